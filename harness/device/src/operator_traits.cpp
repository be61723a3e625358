#include "operator_traits.h"

#include <cstdlib>
#include <mutex>
#include <shared_mutex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace umpatch_device {
namespace {

using Names = std::unordered_set<std::string>;

const Names& waiting_operators() {
  static const auto* names = new Names{
      "aten::nonzero",
      "aten::masked_select",
      "aten::_unique2",
      "aten::unique_consecutive",
      "aten::unique_dim_consecutive",
      "aten::bincount",
      "aten::repeat_interleave",
      "aten::equal",
  };
  return *names;
}

const Names& immediate_operators() {
  static const auto* names = [] {
    auto* all = new Names{"aten::resize_", "aten::set_", "aten::_local_scalar_dense", "aten::is_set_to", "aten::item"};
    // for bisecting a wrong result of the asynchronous mode: aten::a,aten::b
    if (const char* more = std::getenv("UMPATCH_DEVICE_IMMEDIATE_OPS")) {
      std::stringstream list(more);
      for (std::string name; std::getline(list, name, ',');)
        all->insert(name);
    }
    return all;
  }();
  return *names;
}

const Names& index_operators() {
  static const auto* names = new Names{"aten::index", "aten::index_put_", "aten::_index_put_impl_"};
  return *names;
}

std::optional<size_t> generator_position(const c10::FunctionSchema& schema) {
  const auto& arguments = schema.arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto type = arguments[i].type();
    if (auto optional = type->cast<c10::OptionalType>())
      type = optional->getElementType();
    if (type->kind() == c10::TypeKind::GeneratorType)
      return i;
  }
  return std::nullopt;
}

OperatorTraits compute(const c10::OperatorHandle& op) {
  const std::string& name = op.operator_name().name;
  OperatorTraits traits;
  traits.generator = generator_position(op.schema());
  traits.waits_for_result = waiting_operators().count(name) != 0;
  traits.immediate_only = traits.waits_for_result || immediate_operators().count(name) != 0;
  traits.accepts_cpu_indices = index_operators().count(name) != 0;
  return traits;
}

} // namespace

c10::ArrayRef<std::string_view> mps_operators() {
  static constexpr std::string_view names[] = {
#include "mps_operators.inc"
  };
  return names;
}

const OperatorTraits& traits_of(const c10::OperatorHandle& op) {
  static std::shared_mutex mutex;
  static auto* known = new std::unordered_map<const c10::FunctionSchema*, OperatorTraits>;
  const auto* key = &op.schema();
  {
    std::shared_lock lock(mutex);
    if (auto found = known->find(key); found != known->end())
      return found->second;
  }
  auto traits = compute(op);
  std::unique_lock lock(mutex);
  return known->emplace(key, traits).first->second;
}

} // namespace umpatch_device
