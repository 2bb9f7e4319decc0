/* The module: penstock.foundation.native imports it where it is installed. */

#include "penstock_native.h"

/* Counts up with every change of what is called from Python, so that penstock does not use another one than it knows. */
#define INTERFACE 10

PyObject *name_key, *name_time, *name_get, *name_pop, *name_view;

int
require(PyObject *value, PyTypeObject *type, const char *what)
{
    if (PyObject_TypeCheck(value, type)) {
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "%s is needed here, not %.200s", what, Py_TYPE(value)->tp_name);
    return -1;
}

static PyMethodDef functions[] = {
    {"are_all", (PyCFunction)(void (*)(void))are_all, METH_FASTCALL, "Tell whether all of a run are of one class."},
    {"are_fixed", are_fixed, METH_O, "Tell whether none of the records of a run can change."},
    {"call_for_each", (PyCFunction)(void (*)(void))call_for_each, METH_FASTCALL,
     "Put a run of records through a function."},
    {"count_references", (PyCFunction)(void (*)(void))count_references, METH_FASTCALL,
     "Return how many references to the record there are where a result is handed over."},
    {"copied", copied, METH_O, "Return a copy of a value that shares nothing that can change with it."},
    {"copied_run", copied_run, METH_O, "Return copies of the records of a run."},
    {"fire_timers", (PyCFunction)(void (*)(void))fire_timers, METH_FASTCALL, "Fire the timers of one moment."},
    {"gather_all", (PyCFunction)(void (*)(void))gather_all, METH_FASTCALL, "Take all results of a call."},
    {"gather_more", (PyCFunction)(void (*)(void))gather_more, METH_FASTCALL, "Take further results of an iterator."},
    {"handed_over", (PyCFunction)(void (*)(void))handed_over, METH_FASTCALL,
     "Return what is emitted for a result that was made from a record."},
    {"prepare_handover", (PyCFunction)(void (*)(void))prepare_handover, METH_FASTCALL,
     "Say how kinds of values are told and copied."},
    {"protect_run", protect_run, METH_O, "Replace the records of a run that others may change by copies."},
    {"spread_by_key", (PyCFunction)(void (*)(void))spread_by_key, METH_FASTCALL,
     "Spread records over the subtasks that own their keys."},
    {NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "penstock_native",
    .m_doc = "The innermost loops of Penstock in C.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC
PyInit_penstock_native(void)
{
    static PyTypeObject *const types[] = {
        &KeyCell_Type, &ValueState_Type, &ContextAccess_Type, &TimerAccess_Type, &KeyFunction_Type,
    };
    name_key = PyUnicode_InternFromString("key");
    name_time = PyUnicode_InternFromString("time");
    name_get = PyUnicode_InternFromString("get");
    name_pop = PyUnicode_InternFromString("pop");
    name_view = PyUnicode_InternFromString("view");
    if (name_key == NULL || name_time == NULL || name_get == NULL || name_pop == NULL || name_view == NULL) {
        return NULL;
    }
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) {
        return NULL;
    }
    for (size_t index = 0; index < sizeof(types) / sizeof(types[0]); index++) {
        if (PyModule_AddType(module, types[index]) < 0) {
            Py_DECREF(module);
            return NULL;
        }
    }
    if (PyModule_AddIntConstant(module, "INTERFACE", INTERFACE) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
