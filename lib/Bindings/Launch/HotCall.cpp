//===- HotCall.cpp - Objects whose like calls need no Python --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call goes this way: its form (how many arguments, which names) gives each
// argument a role, the arguments make a key, and the key finds a plan. The
// table is used with Python's lock only. What may release it, such as a plan
// that runs, holds references to what it needs.
//
//===----------------------------------------------------------------------===//

#include "HotCall.h"

#include "PlanObjects.h"

#include <structmember.h>

#include <cstddef>

using namespace tilews::launch;

namespace {

/// How many plans are kept before all of them are dropped, and how many forms.
constexpr size_t kMaxPlans = 1024;
constexpr size_t kMaxForms = 128;

thread_local bool isRecordingCalls = false;

struct HotCallObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  CallTable *table;
};

HotCallObject *asHotCall(PyObject *self) {
  return reinterpret_cast<HotCallObject *>(self);
}

// ===--- Forms ---=== //

bool fits(const CallForm &form, Py_ssize_t numPositional, PyObject *names) {
  Py_ssize_t numNames = names ? PyTuple_GET_SIZE(names) : 0;
  if (form.numPositional != numPositional ||
      static_cast<Py_ssize_t>(form.names.size()) != numNames)
    return false;
  // Names in code are interned; others are found to be another form.
  for (Py_ssize_t i = 0; i < numNames; ++i)
    if (PyTuple_GET_ITEM(names, i) != form.names[i])
      return false;
  return true;
}

/// Reads what a subclass says of a form: None, or the roles and the defaults.
bool readForm(PyObject *description, CallForm &form) {
  form.hasPlans = description != Py_None;
  if (!form.hasPlans)
    return true;
  PyObject *roles, *defaults;
  if (!PyArg_ParseTuple(description, "O!O!", &PyList_Type, &roles, &PyList_Type,
                        &defaults))
    return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(roles); ++i) {
    int role;
    unsigned position;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(roles, i), "iI", &role, &position))
      return false;
    form.roles.emplace_back(static_cast<Role>(role), position);
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(defaults); ++i) {
    unsigned position;
    PyObject *value;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(defaults, i), "IO", &position,
                          &value))
      return false;
    form.defaults.emplace_back(position, Py_NewRef(value));
  }
  return form.roles.size() == form.numPositional + form.names.size();
}

/// Asks the subclass for a form, and keeps it.
const CallForm *addForm(PyObject *self, Py_ssize_t numPositional,
                        PyObject *names) {
  PyObject *given = names ? Py_NewRef(names) : PyTuple_New(0);
  if (!given)
    return nullptr;
  PyObject *description =
      PyObject_CallMethod(self, "_describe_form", "nO", numPositional, given);
  auto form = std::make_unique<CallForm>();
  form->numPositional = numPositional;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); ++i)
    form->names.push_back(Py_NewRef(PyTuple_GET_ITEM(given, i)));
  Py_DECREF(given);
  bool isRead = description && readForm(description, *form);
  Py_XDECREF(description);
  if (!isRead)
    return nullptr;
  auto &forms = asHotCall(self)->table->forms;
  forms.push_back(std::move(form));
  return forms.back().get();
}

/// The form of a call; null if there are no plans for it, perhaps with an
/// error.
const CallForm *findForm(PyObject *self, Py_ssize_t numPositional,
                         PyObject *names) {
  auto &forms = asHotCall(self)->table->forms;
  const CallForm *found = nullptr;
  for (size_t i = 0; i < forms.size() && !found; ++i)
    if (fits(*forms[i], numPositional, names))
      found = forms[i].get();
  if (!found && forms.size() < kMaxForms)
    found = addForm(self, numPositional, names);
  return found && found->hasPlans ? found : nullptr;
}

// ===--- Keys and plans ---=== //

bool addToKey(CallKey &key, std::pair<Role, unsigned> role, PyObject *value) {
  auto [kind, position] = role;
  switch (kind) {
  case Role::Argument:
    return key.addArgument(position, value);
  case Role::Constant:
    return key.addConstant(value);
  case Role::TensorOrConstant:
    return key.addTensorOrConstant(position, value);
  case Role::Stream:
    key.stream = value == Py_None ? nullptr : value;
    return true;
  }
  return false;
}

/// Makes the key of a call; false if there are no plans for it.
bool makeKey(const CallTable &table, const CallForm &form,
             PyObject *const *arguments, CallKey &key) {
  if (!key.addWord(reinterpret_cast<uintptr_t>(&form)))
    return false;
  for (size_t i = 0; i < table.captured.size(); ++i) {
    auto [scope, name] = table.captured[i];
    PyObject *value = PyDict_GetItemWithError(scope, name);
    if (!key.addConstant(value ? value : Py_None))
      return false;
  }
  for (size_t i = 0; i < form.roles.size(); ++i)
    if (!addToKey(key, form.roles[i], arguments[i]))
      return false;
  for (auto [position, value] : form.defaults)
    if (!key.addArgument(position, value))
      return false;
  return true;
}

/// What is known for a key; null if nothing is.
const KnownCall *findCall(const CallTable &table, uint64_t hash,
                          const CallKey &key) {
  auto [first, last] = table.calls.equal_range(hash);
  for (; first != last; ++first)
    if (key.equals(first->second->key))
      return first->second.get();
  return nullptr;
}

void release(std::vector<PyObject *> &objects) {
  for (PyObject *object : objects)
    Py_DECREF(object);
}

/// Drops all plans. Python's code may run meanwhile, and call this object.
void dropPlans(CallTable &table) {
  auto calls = std::move(table.calls);
  table.calls.clear();
  for (auto &[hash, call] : calls) {
    release(call->key.objects);
    Py_DECREF(call->object);
  }
}

void addPlan(CallTable &table, uint64_t hash, const CallKey &key,
             PyObject *plan) {
  if (table.calls.size() >= kMaxPlans)
    dropPlans(table);
  auto [first, last] = table.calls.equal_range(hash);
  for (; first != last; ++first)
    if (key.equals(first->second->key)) {
      PyObject *old = first->second->object;
      first->second->object = Py_NewRef(plan);
      first->second->plan = getPlan(plan);
      Py_DECREF(old);
      return;
    }
  auto call = std::make_unique<KnownCall>();
  call->key = key.store();
  call->object = Py_NewRef(plan);
  call->plan = getPlan(plan);
  table.calls.emplace(hash, std::move(call));
}

// ===--- Calls ---=== //

/// Lets the subclass do a call. Returns its result, and its plan if it has one.
PyObject *callAnew(PyObject *self, PyObject *const *arguments,
                   Py_ssize_t numPositional, PyObject *names, PyObject *&plan) {
  static PyObject *method = PyUnicode_InternFromString("_call_anew");
  Py_ssize_t size = numPositional + (names ? PyTuple_GET_SIZE(names) : 0);
  std::vector<PyObject *> all{self};
  all.insert(all.end(), arguments, arguments + size);
  PyObject *answer =
      PyObject_VectorcallMethod(method, all.data(), 1 + numPositional, names);
  if (!answer)
    return nullptr;
  PyObject *result;
  if (!PyArg_ParseTuple(answer, "OO", &result, &plan)) {
    Py_DECREF(answer);
    return nullptr;
  }
  Py_INCREF(result);
  Py_INCREF(plan);
  Py_DECREF(answer);
  return result;
}

PyObject *call(PyObject *self, PyObject *const *arguments, size_t flags,
               PyObject *names) {
  CallTable &table = *asHotCall(self)->table;
  Py_ssize_t numPositional = PyVectorcall_NARGS(flags);
  CallKey key;
  const CallForm *form = findForm(self, numPositional, names);
  if (PyErr_Occurred())
    return nullptr;
  bool hasKey = form && makeKey(table, *form, arguments, key);
  uint64_t hash = hasKey ? key.hash() : 0;
  const KnownCall *known = nullptr;
  if (hasKey && !isRecordingCalls)
    known = findCall(table, hash, key);
  if (known) {
    PyObject *result = nullptr;
    PyObject *keptAlive = Py_NewRef(known->object);
    PlanOutcome outcome = known->plan->run(key, result);
    Py_DECREF(keptAlive);
    if (outcome != PlanOutcome::Declined)
      return result;
  }
  PyObject *plan = nullptr;
  PyObject *result = callAnew(self, arguments, numPositional, names, plan);
  if (result && hasKey && getPlan(plan))
    addPlan(table, hash, key, plan);
  Py_XDECREF(plan);
  return result;
}

// ===--- The type ---=== //

PyObject *create(PyTypeObject *type, PyObject *, PyObject *) {
  PyObject *self = type->tp_alloc(type, 0);
  if (self) {
    asHotCall(self)->vectorcall = call;
    asHotCall(self)->table = new CallTable;
  }
  return self;
}

int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  const CallTable *table = asHotCall(self)->table;
  if (!table)
    return 0;
  for (const auto &form : table->forms)
    for (auto [position, value] : form->defaults)
      Py_VISIT(value);
  for (const auto &[hash, call] : table->calls) {
    Py_VISIT(call->object);
    for (PyObject *object : call->key.objects)
      Py_VISIT(object);
  }
  for (auto [scope, name] : table->captured)
    Py_VISIT(scope);
  return 0;
}

int clear(PyObject *self) {
  CallTable *table = asHotCall(self)->table;
  if (!table)
    return 0;
  dropPlans(*table);
  for (const auto &form : table->forms) {
    form->hasPlans = false;
    auto defaults = std::move(form->defaults);
    form->defaults.clear();
    for (auto [position, value] : defaults)
      Py_DECREF(value);
  }
  auto captured = std::move(table->captured);
  table->captured.clear();
  for (auto [scope, name] : captured) {
    Py_DECREF(scope);
    Py_DECREF(name);
  }
  return 0;
}

void destroy(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  for (const auto &form : asHotCall(self)->table->forms)
    release(form->names);
  delete asHotCall(self)->table;
  type->tp_free(self);
  Py_DECREF(type);
}

/// The method `_watch`: names whose values are a part of each key.
PyObject *watch(PyObject *self, PyObject *captured) {
  PyObject *names = PySequence_List(captured);
  if (!names)
    return nullptr;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(names); ++i) {
    PyObject *scope, *name;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(names, i), "O!O!", &PyDict_Type,
                          &scope, &PyUnicode_Type, &name)) {
      Py_DECREF(names);
      return nullptr;
    }
    asHotCall(self)->table->captured.emplace_back(Py_NewRef(scope),
                                                  Py_NewRef(name));
  }
  Py_DECREF(names);
  Py_RETURN_NONE;
}

/// The method `_drop_plans`: calls are done anew, as on another driver.
PyObject *dropAllPlans(PyObject *self, PyObject *) {
  dropPlans(*asHotCall(self)->table);
  Py_RETURN_NONE;
}

/// The property `_num_plans`.
PyObject *countPlans(PyObject *self, void *) {
  return PyLong_FromSize_t(asHotCall(self)->table->calls.size());
}

PyMethodDef methods[] = {
    {"_watch", watch, METH_O, "Makes the values of names a part of each key."},
    {"_drop_plans", dropAllPlans, METH_NOARGS, "Forgets what calls did."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(HotCallObject, vectorcall),
     READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"_num_plans", countPlans, nullptr, "How many plans are known.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

template <typename Function>
void *asSlot(Function function) {
  return reinterpret_cast<void *>(function);
}

} // namespace

void tilews::launch::setRecording(bool isRecording) {
  isRecordingCalls = isRecording;
}

PyObject *tilews::launch::makeHotCallType() {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char *>("Calls that are done again by plans.")},
      {Py_tp_new, asSlot(create)},
      {Py_tp_call, asSlot(PyVectorcall_Call)},
      {Py_tp_traverse, asSlot(traverse)},
      {Py_tp_clear, asSlot(clear)},
      {Py_tp_dealloc, asSlot(destroy)},
      {Py_tp_methods, methods},
      {Py_tp_members, members},
      {Py_tp_getset, properties},
      {0, nullptr},
  };
  PyType_Spec spec{"tilews._launch.HotCall", sizeof(HotCallObject), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                       Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
                   slots};
  return PyType_FromSpec(&spec);
}
