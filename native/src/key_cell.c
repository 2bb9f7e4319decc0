/* The place of the current key. Its subclasses in Python refuse to be read without one, and tell listeners of one. */

#include "penstock_native.h"

static int
KeyCell_traverse(KeyCell *self, visitproc visit, void *arg)
{
    Py_VISIT(self->key);
    return 0;
}

static int
KeyCell_clear(KeyCell *self)
{
    Py_CLEAR(self->key);
    return 0;
}

static void
KeyCell_dealloc(KeyCell *self)
{
    PyObject_GC_UnTrack(self);
    KeyCell_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef KeyCell_members[] = {
    {"key", T_OBJECT_EX, offsetof(KeyCell, key), 0, "The key of the record being processed."},
    {NULL},
};

PyTypeObject KeyCell_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "penstock_native.KeyCell",
    .tp_doc = "Holds the key of the record being processed.",
    .tp_basicsize = sizeof(KeyCell),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_traverse = (traverseproc)KeyCell_traverse,
    .tp_clear = (inquiry)KeyCell_clear,
    .tp_dealloc = (destructor)KeyCell_dealloc,
    .tp_members = KeyCell_members,
};
