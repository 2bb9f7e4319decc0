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

/* Where results go, and how they are handed over. */
typedef struct {
    PyObject *results;
    PyObject *times; /* None without timestamps */
    int protects;    /* whether results that the program may still change are copied */
    int may_stop;    /* whether a call with many results, or slow ones, may be left before its end */
} Gathering;

/* A function of the program that is called for the records of a run. */
typedef struct {
    PyObject *function;
    PyObject *context; /* None for functions of the record alone */
    PyObject *cell;
    PyTypeObject *plain;
    int is_access;
    int has_times;
} Call;

/* A record of a run, its key or NULL, and its time or None; references to be given back. */
typedef struct {
    PyObject *value;
    PyObject *key;
    PyObject *time;
} Taken;

/* Appends what a function returned for a record, and the time of the record once for each, and takes the reference to it.
   Returns 1 and the iterator of the results to come if it has stopped before the last. */
int gather(PyObject *found, PyObject *input, const Gathering *to, PyObject *time, PyObject **rest);

/* Returns what is handed to the next step for a value: itself if it cannot change, or if the given number of references
   to it are all there are, and the same is true of what it holds; a copy otherwise. The record from which the value was
   made may have another number of references. Takes the reference to the value. */
PyObject *hand_over(PyObject *value, Py_ssize_t own, PyObject *input, Py_ssize_t references);

/* Checks that a value is an instance of a type; raises TypeError otherwise. */
int require(PyObject *value, PyTypeObject *type, const char *what);

PyObject *are_all(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *are_fixed(PyObject *module, PyObject *values);
PyObject *call_for_each(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *copied(PyObject *module, PyObject *value);
PyObject *copied_run(PyObject *module, PyObject *values);
PyObject *fire_timers(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *count_references(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *gather_all(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *gather_more(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *handed_over(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *prepare_handover(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *protect_run(PyObject *module, PyObject *values);
PyObject *spread_by_key(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

#endif
