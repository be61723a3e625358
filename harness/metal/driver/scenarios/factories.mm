// Tensors as the tree's EmptyTensor.cpp and TensorFactory.cpp make and resize them: room, strides and values.
#include <ATen/ATen.h>
#include "../session.h"

namespace umpatch {
namespace {

using at::Tensor;

void expectRoom(Session& session, const char* way, const Tensor& tensor, size_t bytes) {
  const size_t held = tensor.storage().nbytes();
  if (held < bytes) {
    session.fault(Fault::State, std::string(way) + ": a storage of " + std::to_string(held) + " bytes where " +
                                    std::to_string(bytes) + " are needed");
  }
}

void expectValues(Session& session, const char* way, const Tensor& tensor, const Tensor& expected) {
  const Tensor host = tensor.cpu().contiguous();
  session.expectBytes(Fault::WrongData, host.data_ptr(), expected.data_ptr(), expected.nbytes(), way);
}

// A tensor of so many bytes holds them all, whatever its dtype, strides and history.
void tensorFactories(Session& session) {
  const auto options = at::TensorOptions().dtype(at::kFloat).device(at::kMPS);
  while (session.step() < session.steps()) {
    const int64_t rows = 2 + (int64_t)(session.random()() % 40), columns = 2 + (int64_t)(session.random()() % 40);
    const int64_t elements = rows * columns;
    for (const auto type : {at::kFloat, at::kHalf, at::kLong, at::kByte}) {
      expectRoom(session, "empty", at::empty({rows, columns}, options.dtype(type)),
                 elements * c10::elementSize(type));
    }
    // rows apart from each other
    const Tensor strided = at::empty_strided({rows, columns}, {columns + 3, 1}, options);
    expectRoom(session, "empty_strided", strided, ((rows - 1) * (columns + 3) + columns) * sizeof(float));
    if (strided.stride(0) != columns + 3 || strided.stride(1) != 1) {
      session.fault(Fault::State, "empty_strided does not have the strides that were asked for");
    }

    const Tensor values = at::arange(elements, at::kFloat);
    Tensor grown = values.to(at::kMPS);
    grown.resize_({4 * elements});
    expectRoom(session, "resize_", grown, 4 * elements * sizeof(float));
    expectValues(session, "resize_ lost values", at::as_strided(grown, {elements}, {1}, 0), values);

    // a view that ends where its storage does
    const Tensor base = values.to(at::kMPS);
    const int64_t offset = elements - columns;
    Tensor view = at::as_strided(base, {columns}, {1}, offset);
    view.resize_({2 * columns});
    expectRoom(session, "resize_ of a view", view, (offset + 2 * columns) * sizeof(float));
    expectValues(session, "resize_ of a view lost values", at::as_strided(view, {columns}, {1}, offset),
                 values.slice(0, offset).contiguous());
    session.pass();
    session.endStep();
  }
  session.audit();
}

using Settings = std::map<std::string, std::string>;

const Scenarios added({
    {"tensor-factories",
     "room, strides and values of tensors that are made and resized",
     "ours",
     "correctness",
     {"shared-default"},
     40,
     400,
     true,
     Settings{},
     tensorFactories},
});

} // namespace
} // namespace umpatch
