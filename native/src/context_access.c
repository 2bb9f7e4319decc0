/* What a process function asks its context for, record by record. */

#include "penstock_native.h"

static int
ContextAccess_init(ContextAccess *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"output", "service", "keys", NULL};
    PyObject *output, *service, *keys;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOO:ContextAccess", names, &output, &service, &keys)
        || require(keys, &KeyCell_Type, "a key context") < 0) {
        return -1;
    }
    Py_XSETREF(self->output, Py_NewRef(output));
    Py_XSETREF(self->service, Py_NewRef(service));
    Py_XSETREF(self->keys, Py_NewRef(keys));
    Py_XSETREF(self->time, Py_NewRef(Py_None));
    return 0;
}

static int
ContextAccess_traverse(ContextAccess *self, visitproc visit, void *arg)
{
    Py_VISIT(self->output);
    Py_VISIT(self->service);
    Py_VISIT(self->keys);
    Py_VISIT(self->time);
    return 0;
}

static int
ContextAccess_clear(ContextAccess *self)
{
    Py_CLEAR(self->output);
    Py_CLEAR(self->service);
    Py_CLEAR(self->keys);
    Py_CLEAR(self->time);
    return 0;
}

static void
ContextAccess_dealloc(ContextAccess *self)
{
    PyObject_GC_UnTrack(self);
    ContextAccess_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *
ContextAccess_timestamp(ContextAccess *self, PyObject *Py_UNUSED(ignored))
{
    return Py_NewRef(self->time != NULL ? self->time : Py_None);
}

static PyObject *
ContextAccess_timer_service(ContextAccess *self, PyObject *Py_UNUSED(ignored))
{
    return Py_NewRef(self->service != NULL ? self->service : Py_None);
}

static PyObject *
ContextAccess_get_current_key(ContextAccess *self, PyObject *Py_UNUSED(ignored))
{
    if (self->keys == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the context was not initialised");
        return NULL;
    }
    return current_key(self->keys);
}

static PyMethodDef ContextAccess_methods[] = {
    {"timestamp", (PyCFunction)ContextAccess_timestamp, METH_NOARGS,
     "Return the event time of the record or of the firing timer."},
    {"timer_service", (PyCFunction)ContextAccess_timer_service, METH_NOARGS, "Return access to time and timers."},
    {"get_current_key", (PyCFunction)ContextAccess_get_current_key, METH_NOARGS,
     "Return the key of the record or timer."},
    {NULL},
};

static PyMemberDef ContextAccess_members[] = {
    {"_output", T_OBJECT_EX, offsetof(ContextAccess, output), READONLY, NULL},
    {"_service", T_OBJECT_EX, offsetof(ContextAccess, service), READONLY, NULL},
    {"_keys", T_OBJECT_EX, offsetof(ContextAccess, keys), READONLY, NULL},
    {"time", T_OBJECT_EX, offsetof(ContextAccess, time), 0, NULL},
    {NULL},
};

PyTypeObject ContextAccess_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "penstock_native.ContextAccess",
    .tp_doc = "The time, the timers and the key of a record.",
    .tp_basicsize = sizeof(ContextAccess),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)ContextAccess_init,
    .tp_traverse = (traverseproc)ContextAccess_traverse,
    .tp_clear = (inquiry)ContextAccess_clear,
    .tp_dealloc = (destructor)ContextAccess_dealloc,
    .tp_methods = ContextAccess_methods,
    .tp_members = ContextAccess_members,
};
