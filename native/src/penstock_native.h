/* What the parts of the accelerator know of each other.

   Every function and type here has a twin in Python, in the module of penstock that imports it; the twin is what says
   how it behaves. */

#ifndef PENSTOCK_NATIVE_H
#define PENSTOCK_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

/* Holds the key of the record being processed; without one, key is NULL. */
typedef struct {
    PyObject_HEAD
    PyObject *key;
} KeyCell;

/* What a process function sees of the record or timer being processed. */
typedef struct {
    PyObject_HEAD
    PyObject *output;
    PyObject *service;
    PyObject *keys;
    PyObject *time;
} ContextAccess;

extern PyTypeObject KeyCell_Type;
extern PyTypeObject ValueState_Type;
extern PyTypeObject ContextAccess_Type;
extern PyTypeObject TimerAccess_Type;
extern PyTypeObject KeyFunction_Type;

/* Names that are looked up, made once when the module is imported. */
extern PyObject *name_key, *name_time, *name_get, *name_pop, *name_view;

/* Returns a new reference to the current key; without one, what the cell's class has to say about that. */
static inline PyObject *
current_key(PyObject *cell)
{
    PyObject *key = ((KeyCell *)cell)->key;
    return key != NULL ? Py_NewRef(key) : PyObject_GetAttr(cell, name_key);
}

/* Makes a key current. Steals the reference to it. Cells of another class than the plain one do more than storing. */
static inline int
make_current(PyObject *cell, PyTypeObject *plain, PyObject *key)
{
    if (Py_IS_TYPE(cell, plain)) {
        Py_XSETREF(((KeyCell *)cell)->key, key);
        return 0;
    }
    int status = PyObject_SetAttr(cell, name_key, key);
    Py_DECREF(key);
    return status;
}

/* Tells a context the time of a record. */
static inline int
tell_time(PyObject *context, int is_access, PyObject *time)
{
    if (is_access) {
        Py_XSETREF(((ContextAccess *)context)->time, Py_NewRef(time));
        return 0;
    }
    return PyObject_SetAttr(context, name_time, time);
}

/* Returns the next of the keys of a run, a list or an iterator, with its position in the run; NULL with an error set. */
PyObject *next_key(PyObject *keys, Py_ssize_t position);

/* Checks that keys can be asked for one after the other. */
int require_keys(PyObject *keys);

/* Returns an iterator of what a function returned; where there is none, the error carries that as "returned". */
PyObject *iterator_of(PyObject *found);

/* Appends what a function returned, and the time of the record once for each, and takes the reference to it. */
int gather(PyObject *found, PyObject *results, PyObject *times, PyObject *time);

/* Checks that a value is an instance of a type; raises TypeError otherwise. */
int require(PyObject *value, PyTypeObject *type, const char *what);

PyObject *are_all(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *call_for_each(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *fire_timers(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *spread_by_key(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

#endif
