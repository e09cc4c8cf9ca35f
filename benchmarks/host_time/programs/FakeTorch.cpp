//===- FakeTorch.cpp - Tensors of torch, without torch --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An extension module with a tensor that DLPack's C functions read as fast as
// torch's own, and with a driver that does nothing. So the time of a call can
// be measured without a GPU. See fake_device.py.
//
//===----------------------------------------------------------------------===//

#include <Python.h>

#include "ExchangeApi.h"

#include <structmember.h>

using tilews::launch::ExchangeApi;
using tilews::launch::ExchangedArray;

namespace {

constexpr int kMaxRank = 8;
void *currentStream;
int numReads;

struct TensorObject {
  PyObject_HEAD
  ExchangedArray array;
  int64_t shape[kMaxRank], strides[kMaxRank];
  int fails;
};

/// Reads a tuple of integers.
int readExtents(PyObject *tuple, int64_t *into) {
  auto rank = static_cast<int>(PyTuple_GET_SIZE(tuple));
  for (int d = 0; d < rank && d < kMaxRank; ++d)
    into[d] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, d));
  return rank;
}

int initialize(PyObject *self, PyObject *args, PyObject *) {
  auto *tensor = reinterpret_cast<TensorObject *>(self);
  PyObject *shape, *strides;
  unsigned long long address;
  int code, bits, device;
  if (!PyArg_ParseTuple(args, "KO!O!iii", &address, &PyTuple_Type, &shape,
                        &PyTuple_Type, &strides, &code, &bits, &device))
    return -1;
  ExchangedArray &array = tensor->array;
  array = {};
  array.data = reinterpret_cast<void *>(address);
  array.deviceType = 2; // CUDA
  array.deviceIndex = device;
  array.rank = readExtents(shape, tensor->shape);
  readExtents(strides, tensor->strides);
  array.typeCode = static_cast<uint8_t>(code);
  array.typeBits = static_cast<uint8_t>(bits);
  array.typeLanes = 1;
  array.shape = tensor->shape;
  array.strides = tensor->strides;
  return PyErr_Occurred() ? -1 : 0;
}

int readArray(void *object, ExchangedArray *out) {
  auto *tensor = static_cast<TensorObject *>(object);
  ++numReads;
  if (tensor->fails) {
    PyErr_SetString(PyExc_RuntimeError, "this tensor cannot be read");
    return -1;
  }
  *out = tensor->array;
  return 0;
}

int findStream(int32_t, int32_t, void **out) {
  *out = currentStream;
  return 0;
}

ExchangeApi table = {{1, 3, nullptr}, nullptr,   nullptr,
                     nullptr,         readArray, findStream};

PyObject *getAddress(PyObject *self, PyObject *) {
  return PyLong_FromVoidPtr(reinterpret_cast<TensorObject *>(self)->array.data);
}

PyMethodDef tensorMethods[] = {
    {"data_ptr", getAddress, METH_NOARGS, "The address."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef tensorMembers[] = {
    {"address", T_ULONGLONG,
     offsetof(TensorObject, array) + offsetof(ExchangedArray, data), 0, nullptr},
    {"fails", T_INT, offsetof(TensorObject, fails), 0, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

void destroy(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot tensorSlots[] = {
    {Py_tp_new, reinterpret_cast<void *>(PyType_GenericNew)},
    {Py_tp_init, reinterpret_cast<void *>(initialize)},
    {Py_tp_dealloc, reinterpret_cast<void *>(destroy)},
    {Py_tp_methods, tensorMethods},
    {Py_tp_members, tensorMembers},
    {0, nullptr},
};

PyType_Spec tensorSpec = {"FakeTorch.Tensor", sizeof(TensorObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, tensorSlots};

/// The driver: it succeeds, in a context whose handle is 1.
int launch(const void *, void *, void **, void **) { return 0; }
int getContext(void **context) {
  *context = reinterpret_cast<void *>(1);
  return 0;
}
int setContext(void *) { return 0; }
int isCapturing(void *, int *status) { return *status = 0; }
int encode(void *map, int, uint32_t, void *, const uint64_t *, const uint64_t *,
           const uint32_t *, const uint32_t *, int, int, int, int) {
  memset(map, 0, 128);
  return 0;
}

PyObject *getDriver(PyObject *, PyObject *) {
  return Py_BuildValue(
      "(NNNNN)", PyLong_FromVoidPtr(reinterpret_cast<void *>(launch)),
      PyLong_FromVoidPtr(reinterpret_cast<void *>(getContext)),
      PyLong_FromVoidPtr(reinterpret_cast<void *>(setContext)),
      PyLong_FromVoidPtr(reinterpret_cast<void *>(isCapturing)),
      PyLong_FromVoidPtr(reinterpret_cast<void *>(encode)));
}

PyObject *setStream(PyObject *, PyObject *handle) {
  currentStream = PyLong_AsVoidPtr(handle);
  if (PyErr_Occurred())
    return nullptr;
  Py_RETURN_NONE;
}

PyObject *countReads(PyObject *, PyObject *) { return PyLong_FromLong(numReads); }

PyMethodDef methods[] = {
    {"driver", getDriver, METH_NOARGS, "Addresses of the driver's functions."},
    {"set_stream", setStream, METH_O, "Sets the current stream."},
    {"num_reads", countReads, METH_NOARGS, "How many tensors were read."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "FakeTorch",
                          nullptr,
                          -1,
                          methods,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

} // namespace

PyMODINIT_FUNC PyInit_FakeTorch() {
  PyObject *module = PyModule_Create(&definition);
  PyObject *type = PyType_FromSpec(&tensorSpec);
  PyObject *capsule = PyCapsule_New(&table, "dlpack_exchange_api", nullptr);
  if (!module || !type || !capsule ||
      PyObject_SetAttrString(type, "__dlpack_c_exchange_api__", capsule) < 0 ||
      PyModule_AddObjectRef(module, "Tensor", type) < 0)
    return nullptr;
  Py_DECREF(type);
  Py_DECREF(capsule);
  return module;
}
