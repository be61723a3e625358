// The extension module umpatch_device._native.

#include <torch/csrc/Device.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/python_headers.h>
#include <torch/csrc/utils/object_ptr.h>

#include <ATen/ATen.h>
#include <ATen/mps/MPSGeneratorImpl.h>

#include <memory>

#include "device_control.h"
#include "metal_counters.h"

namespace umpatch_device {
namespace {

newfunc original_generator_new = nullptr;

bool asks_for_mps(PyObject* arguments, PyObject* keywords) {
  PyObject* device = keywords ? PyDict_GetItemString(keywords, "device") : nullptr;
  if (!device && PyTuple_GET_SIZE(arguments) > 0)
    device = PyTuple_GET_ITEM(arguments, 0);
  if (!device)
    return false;
  if (THPDevice_Check(device))
    return reinterpret_cast<THPDevice*>(device)->device.is_mps();
  if (!PyUnicode_Check(device))
    return false;
  const char* name = PyUnicode_AsUTF8(device);
  if (!name) {
    PyErr_Clear(); // torch's own parser reports it
    return false;
  }
  return std::string_view(name) == "mps" || std::string_view(name) == "mps:0";
}

// torch.Generator(device="mps") is behind USE_MPS in the wheel.
PyObject* generator_new(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  HANDLE_TH_ERRORS
  if (!asks_for_mps(arguments, keywords))
    return original_generator_new(type, arguments, keywords);
  return THPGenerator_NewWithVar(type, at::make_generator<at::MPSGeneratorImpl>());
  END_HANDLE_TH_ERRORS
}

void teach_generator_type() {
  auto* type = reinterpret_cast<PyTypeObject*>(THPGeneratorClass);
  if (type->tp_new == generator_new)
    return;
  original_generator_new = type->tp_new;
  type->tp_new = generator_new;
  PyType_Modified(type);
}

PyObject* py_initialize(PyObject*, PyObject*) {
  HANDLE_TH_ERRORS
  initialize();
  teach_generator_type();
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* py_apply_setting(PyObject*, PyObject* arguments) {
  HANDLE_TH_ERRORS
  const char* key = nullptr;
  const char* value = nullptr;
  if (!PyArg_ParseTuple(arguments, "ss", &key, &value))
    return nullptr;
  return PyBool_FromLong(apply_setting(key, value));
  END_HANDLE_TH_ERRORS
}

PyObject* py_counters(PyObject*, PyObject*) {
  HANDLE_TH_ERRORS
  THPObjectPtr result(PyDict_New());
  if (!result)
    return nullptr;
  for (const auto& [name, value] : counters()) {
    THPObjectPtr number(PyLong_FromUnsignedLongLong(value));
    if (!number || PyDict_SetItemString(result.get(), name.c_str(), number.get()) != 0) {
      return nullptr;
    }
  }
  return result.release();
  END_HANDLE_TH_ERRORS
}

// Waits without the interpreter lock: the GPU's thread may need it to drop Python-owned memory.
template <void (*action)()>
PyObject* py_call(PyObject*, PyObject*) {
  HANDLE_TH_ERRORS
  Py_BEGIN_ALLOW_THREADS action();
  Py_END_ALLOW_THREADS Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* py_shared_address(PyObject*, PyObject* argument) {
  HANDLE_TH_ERRORS
  const auto buffer = PyLong_AsUnsignedLongLong(argument);
  if (PyErr_Occurred())
    return nullptr;
  const auto found = shared_address(static_cast<uintptr_t>(buffer));
  if (!found)
    Py_RETURN_NONE;
  return Py_BuildValue("(KI)", static_cast<unsigned long long>(found->first), found->second);
  END_HANDLE_TH_ERRORS
}

PyObject* py_audit(PyObject*, PyObject*) {
  HANDLE_TH_ERRORS
  const auto found = audit();
  THPObjectPtr violations(PyList_New(0));
  if (!violations)
    return nullptr;
  for (const auto& violation : found.violations) {
    THPObjectPtr item(
        Py_BuildValue("(sK)", violation.detail.c_str(), static_cast<unsigned long long>(violation.bytes)));
    if (!item || PyList_Append(violations.get(), item.get()) != 0)
      return nullptr;
  }
  return Py_BuildValue("(KKN)", static_cast<unsigned long long>(found.pending_bytes),
                       static_cast<unsigned long long>(found.in_flight_free_bytes), violations.release());
  END_HANDLE_TH_ERRORS
}

PyObject* py_settings(PyObject*, PyObject*) {
  HANDLE_TH_ERRORS
  THPObjectPtr result(PyDict_New());
  if (!result)
    return nullptr;
  for (const auto& [name, value] : settings()) {
    THPObjectPtr text(PyUnicode_FromString(value.c_str()));
    if (!text || PyDict_SetItemString(result.get(), name.c_str(), text.get()) != 0)
      return nullptr;
  }
  return result.release();
  END_HANDLE_TH_ERRORS
}

PyObject* py_pin_memory(PyObject*, PyObject* argument) {
  HANDLE_TH_ERRORS
  TORCH_CHECK_TYPE(THPVariable_Check(argument), "pin_memory() takes a tensor");
  const auto& source = THPVariable_Unpack(argument);
  TORCH_CHECK(source.is_cpu() && source.numel() > 0, "pin_memory() takes a CPU tensor with elements");
  auto block = std::make_shared<PinnedBlock>(allocate_pinned(source.nbytes()));
  auto pinned = at::from_blob(
      block->address, source.sizes(), [block](void*) mutable { block.reset(); }, source.options());
  pinned.copy_(source);
  return THPVariable_Wrap(pinned);
  END_HANDLE_TH_ERRORS
}

PyMethodDef methods[] = {
    {"settings", py_settings, METH_NOARGS, "All settings of the simulated Metal by name."},
    {"pin_memory", py_pin_memory, METH_O, "A copy of a CPU tensor in pinned memory."},
    {"audit", py_audit, METH_NOARGS, "(pending bytes, in-flight free bytes, [(violation, bytes)])."},
    {"initialize", py_initialize, METH_NOARGS, "Register the device; once, before any tensor."},
    {"apply_setting", py_apply_setting, METH_VARARGS, "Set one setting; False if it is refused."},
    {"counters", py_counters, METH_NOARGS, "Cumulative counters by name."},
    {"pause_gpu", py_call<pause_gpu>, METH_NOARGS, "Stop before the next command buffer."},
    {"resume_gpu", py_call<resume_gpu>, METH_NOARGS, "Go on after pause_gpu()."},
    {"wait_until_idle", py_call<wait_until_idle>, METH_NOARGS, "Wait for all committed work."},
    {"shared_address", py_shared_address, METH_O, "(address, retain count) of a shared buffer."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", "The simulated mps device.", -1, methods};

} // namespace
} // namespace umpatch_device

PyMODINIT_FUNC PyInit__native() {
  return PyModule_Create(&umpatch_device::module);
}
