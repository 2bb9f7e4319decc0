/* What a step emits is what it was at that moment: copies of what the program may still change.

   Most records cannot change, or nobody but the receiver can reach them any more. Both is found here by a look at types
   and reference counts, in a few nanoseconds, and such records are handed over as they are. The twin in Python,
   penstock/statestore/copying.py, copies whatever can change; the results are equal, but not identical. */

#include "penstock_native.h"

enum { ATOM, FROZEN, PLAIN, LEAF, ARRAY, OPAQUE };

#define DEEPEST 64
/* The references to a part that only one object holds, while it is copied: that object's and ours. */
#define ONE_HOLDER 2

/* The kinds of types, by their addresses: a table with places that are tried one after the other. It keeps its types. */
static struct {
    PyTypeObject *type;
    int kind;
} *places;
static size_t room, taken;

static PyObject *classify, *copy_otherwise;
static traverseproc traverse_of_classes;
static destructor dealloc_of_classes;
/* How many references to a record there are while a result that is the record, or holds it, is handed over. */
static Py_ssize_t references_to_record;
static PyObject *name_base, *name_dtype, *name_hasobject;

/* What is known while the objects of a record are looked at. */
typedef struct {
    PyObject *input;       /* the record that the function was given, */
    Py_ssize_t references; /* how many references to it are Penstock's own and the result's, */
    Py_ssize_t of_members; /* how many references to the members of the object at hand are allowed, */
    int depth;
    PyTypeObject *unknown; /* and a type that was seen for the first time. */
} Look;

enum { PRIVATE, REACHABLE, UNKNOWN };

/* Tells whether the objects that an instance refers to can be visited: it is an instance of a class of Python's own. A type
   made in C may have more to free than it shows, such as memory that it shares with other objects. */
static int
can_be_visited(PyTypeObject *type)
{
    PyTypeObject *const ends[] = {
        &PyBaseObject_Type, &PyTuple_Type, &PyList_Type, &PyDict_Type, &PySet_Type, &PyFrozenSet_Type, &PyODict_Type,
    };
    while (type->tp_dealloc == dealloc_of_classes && type->tp_base != NULL
           && (type->tp_traverse == traverse_of_classes || type->tp_traverse == NULL)) {
        type = type->tp_base;
    }
    for (size_t index = 0; index < sizeof(ends) / sizeof(ends[0]); index++) {
        if (type == ends[index]) {
            return 1;
        }
    }
    return 0;
}

/* Returns the place of a type, or the free one where it would be. */
static inline size_t
place_of(PyTypeObject *type)
{
    size_t place = ((size_t)type >> 4) & (room - 1);
    while (places[place].type != NULL && places[place].type != type) {
        place = (place + 1) & (room - 1);
    }
    return place;
}

static int
remember_kind(PyTypeObject *type, int kind)
{
    if (taken * 2 >= room) {
        size_t old_room = room;
        void *old = places;
        room = room == 0 ? 64 : room * 2;
        places = PyMem_Calloc(room, sizeof(*places));
        if (places == NULL) {
            places = old;
            room = old_room;
            PyErr_NoMemory();
            return -1;
        }
        for (size_t index = 0; index < old_room; index++) {
            __typeof__(*places) *moved = (__typeof__(places))old + index;
            if (moved->type != NULL) {
                places[place_of(moved->type)] = *moved;
            }
        }
        PyMem_Free(old);
    }
    size_t place = place_of(type);
    if (places[place].type == NULL) {
        places[place].type = (PyTypeObject *)Py_NewRef((PyObject *)type);
        taken++;
    }
    places[place].kind = kind;
    return 0;
}

/* Asks Python, once per type, what kind of objects its instances are. */
static int
learn_kind(PyTypeObject *type)
{
    PyObject *answer = PyObject_CallOneArg(classify, (PyObject *)type);
    long kind = answer == NULL ? -1 : PyLong_AsLong(answer);
    Py_XDECREF(answer);
    if (kind < 0) {
        return -1;
    }
    if ((kind == FROZEN || kind == PLAIN) && (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !can_be_visited(type)) {
        kind = OPAQUE;
    }
    return remember_kind(type, (int)kind);
}

/* Returns the kind of a type, -1 if it was not seen before. */
static inline int
kind_of(PyTypeObject *type)
{
    if (type == &PyLong_Type || type == &PyUnicode_Type || type == &PyFloat_Type || type == Py_TYPE(Py_None)
        || type == &PyBool_Type || type == &PyBytes_Type) {
        return ATOM;
    }
    if (type == &PyTuple_Type) {
        return FROZEN;
    }
    if (type == &PyDict_Type || type == &PyList_Type) {
        return PLAIN;
    }
    size_t place = place_of(type);
    return places[place].type == NULL ? -1 : places[place].kind;
}

/* Tells whether a value is one of the most frequent that cannot change: an atom, or a tuple of atoms. */
static inline int
is_simple(PyObject *value)
{
    if (!PyTuple_CheckExact(value)) {
        return kind_of(Py_TYPE(value)) == ATOM;
    }
    for (Py_ssize_t position = 0; position < PyTuple_GET_SIZE(value); position++) {
        if (kind_of(Py_TYPE(PyTuple_GET_ITEM(value, position))) != ATOM) {
            return 0;
        }
    }
    return 1;
}

static int look_at(PyObject *value, Py_ssize_t allowed, Look *look);

static int
visit(PyObject *child, void *look)
{
    return look_at(child, ((Look *)look)->of_members, look);
}

/* Tells whether an array holds its numbers itself. A view holds a reference to the array that it looks into. */
static int
holds_its_data(PyObject *array)
{
    PyObject *base = PyObject_GetAttr(array, name_base);
    PyObject *kind = base == Py_None ? PyObject_GetAttr(array, name_dtype) : NULL;
    PyObject *has_object = kind == NULL ? NULL : PyObject_GetAttr(kind, name_hasobject);
    int answer = has_object == Py_False;
    PyErr_Clear();
    Py_XDECREF(base);
    Py_XDECREF(kind);
    Py_XDECREF(has_object);
    return answer;
}

/* Tells whether somebody may come back to an object that he does not keep alive. */
static inline int
has_weak_references(PyObject *value)
{
    Py_ssize_t offset = Py_TYPE(value)->tp_weaklistoffset;
    return offset != 0 && *(PyObject **)((char *)value + offset) != NULL;
}

/* Says whether a value can only be reached through the given number of references, or cannot change. */
static int
look_at(PyObject *value, Py_ssize_t allowed, Look *look)
{
    PyTypeObject *type = Py_TYPE(value);
    int kind = kind_of(type);
    if (kind == ATOM) {
        return PRIVATE;
    }
    if (kind < 0) {
        look->unknown = type;
        return UNKNOWN;
    }
    if (value == look->input) {
        allowed = look->references;
    }
    if (kind == OPAQUE || (kind != FROZEN && (Py_REFCNT(value) > allowed || has_weak_references(value)))
        || (kind == ARRAY && !holds_its_data(value))) {
        return REACHABLE;
    }
    if (kind == LEAF || kind == ARRAY || type->tp_traverse == NULL) {
        return PRIVATE;
    }
    if (look->depth == DEEPEST) {
        return REACHABLE;
    }
    /* What is in an object that others can reach, they can reach, too. */
    Py_ssize_t before = look->of_members;
    look->of_members = Py_REFCNT(value) > allowed || has_weak_references(value) ? 0 : 1;
    look->depth++;
    int found = PRIVATE;
    if (type == &PyTuple_Type) {
        for (Py_ssize_t position = 0; found == PRIVATE && position < PyTuple_GET_SIZE(value); position++) {
            found = look_at(PyTuple_GET_ITEM(value, position), look->of_members, look);
        }
    } else {
        found = type->tp_traverse(value, visit, look);
    }
    look->depth--;
    look->of_members = before;
    return found;
}

/* Returns a copy of a value that shares nothing that can change with it. Sets is_tree to 0 where that is left to Python:
   for objects, and where a part appears twice, so that it does so in the copy. */
static PyObject *
copy_tree(PyObject *value, int depth, int *is_tree)
{
    PyTypeObject *type = Py_TYPE(value);
    int kind = kind_of(type);
    if (kind == ATOM) {
        return Py_NewRef(value);
    }
    if (depth == DEEPEST || (depth > 0 && kind != FROZEN && Py_REFCNT(value) > ONE_HOLDER)) {
        *is_tree = 0;
        return NULL;
    }
    PyObject *copy = NULL;
    if (type == &PyTuple_Type) {
        Py_ssize_t size = PyTuple_GET_SIZE(value), same = 0;
        copy = PyTuple_New(size);
        for (Py_ssize_t position = 0; copy != NULL && position < size; position++) {
            PyObject *member = Py_NewRef(PyTuple_GET_ITEM(value, position));
            PyObject *copied = copy_tree(member, depth + 1, is_tree);
            Py_DECREF(member);
            if (copied == NULL) {
                Py_CLEAR(copy);
                break;
            }
            same += copied == member;
            PyTuple_SET_ITEM(copy, position, copied);
        }
        if (copy != NULL && same == size) {
            Py_SETREF(copy, Py_NewRef(value));
        } else if (copy != NULL && depth > 0 && Py_REFCNT(value) > ONE_HOLDER) {
            *is_tree = 0;
            Py_CLEAR(copy);
        }
        return copy;
    }
    if (type == &PyList_Type) {
        copy = PyList_GetSlice(value, 0, PyList_GET_SIZE(value));
        for (Py_ssize_t position = 0; copy != NULL && position < PyList_GET_SIZE(copy); position++) {
            PyObject *member = PyList_GET_ITEM(copy, position);
            if (kind_of(Py_TYPE(member)) == ATOM) {
                continue;
            }
            /* The slice refers to the members, too. It lets go, so that one reference is the original's and one ours. */
            Py_INCREF(member);
            PyList_SetItem(copy, position, Py_NewRef(Py_None));
            PyObject *copied = copy_tree(member, depth + 1, is_tree);
            Py_DECREF(member);
            if (copied == NULL) {
                Py_CLEAR(copy);
                break;
            }
            PyList_SetItem(copy, position, copied);
        }
        return copy;
    }
    if (type == &PyDict_Type) {
        PyObject *key, *member;
        copy = PyDict_New();
        for (Py_ssize_t position = 0; copy != NULL && PyDict_Next(value, &position, &key, &member);) {
            PyObject *copied = NULL;
            Py_INCREF(key);
            Py_INCREF(member);
            if (kind_of(Py_TYPE(key)) == ATOM) {
                copied = copy_tree(member, depth + 1, is_tree);
            } else {
                *is_tree = 0;
            }
            if (copied == NULL || PyDict_SetItem(copy, key, copied) < 0) {
                Py_CLEAR(copy);
            }
            Py_XDECREF(copied);
            Py_DECREF(key);
            Py_DECREF(member);
        }
        return copy;
    }
    *is_tree = 0;
    return NULL;
}

static PyObject *
copy_value(PyObject *value)
{
    int is_tree = 1;
    PyObject *copy = copy_tree(value, 0, &is_tree);
    return copy != NULL || PyErr_Occurred() || is_tree ? copy : PyObject_CallOneArg(copy_otherwise, value);
}

PyObject *
hand_over(PyObject *value, Py_ssize_t own, PyObject *input, Py_ssize_t references)
{
    if (is_simple(value)) {
        return value;
    }
    for (;;) {
        Look look = {input, references, 0, 0, NULL};
        int found = look_at(value, own, &look);
        if (found == PRIVATE) {
            return value;
        }
        if (found == REACHABLE) {
            break;
        }
        if (learn_kind(look.unknown) < 0) {
            Py_DECREF(value);
            return NULL;
        }
    }
    Py_SETREF(value, copy_value(value));
    return value;
}

/* handed_over(result, record): what is emitted for a result, which only the caller refers to if it is private. The record,
   which may be the result or a part of it, is referred to by the run and the caller as well. */
PyObject *
handed_over(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "handed_over takes a result and a record");
        return NULL;
    }
    PyObject *result = arguments[0];
    if (is_simple(result)) {
        return Py_NewRef(result);
    }
    /* One more reference to the result is this function's. */
    Py_ssize_t references = result == arguments[1] ? references_to_record + 1 : references_to_record;
    return hand_over(Py_NewRef(result), 2, arguments[1], references);
}

/* count_references(result, record): put in the place of handed_over once, to learn what the interpreter counts there. */
PyObject *
count_references(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "count_references takes a result and a record");
        return NULL;
    }
    references_to_record = Py_REFCNT(arguments[1]);
    return PyLong_FromSsize_t(references_to_record);
}

/* copied(value) */
PyObject *
copied(PyObject *Py_UNUSED(module), PyObject *value)
{
    return hand_over(Py_NewRef(value), 0, NULL, 0);
}

/* protect_run(values): hands over a list of records that were made, and are emitted, together. */
PyObject *
protect_run(PyObject *Py_UNUSED(module), PyObject *values)
{
    if (require(values, &PyList_Type, "a list of records") < 0) {
        return NULL;
    }
    for (Py_ssize_t position = 0; position < PyList_GET_SIZE(values); position++) {
        PyObject *value = PyList_GET_ITEM(values, position);
        if (is_simple(value)) {
            continue;
        }
        /* Two references are the list's and this one. */
        PyObject *given = hand_over(Py_NewRef(value), 2, NULL, 0);
        if (given == NULL || PyList_SetItem(values, position, given) < 0) {
            return NULL;
        }
    }
    Py_RETURN_NONE;
}

/* copied_run(values): a list of records of their own for another receiver of the same records. */
PyObject *
copied_run(PyObject *Py_UNUSED(module), PyObject *values)
{
    if (require(values, &PyList_Type, "a list of records") < 0) {
        return NULL;
    }
    PyObject *copies = PyList_GetSlice(values, 0, PyList_GET_SIZE(values));
    for (Py_ssize_t position = 0; copies != NULL && position < PyList_GET_SIZE(copies); position++) {
        PyObject *value = PyList_GET_ITEM(copies, position);
        if (is_simple(value)) {
            continue;
        }
        PyObject *copy = hand_over(Py_NewRef(value), 0, NULL, 0);
        if (copy == NULL || PyList_SetItem(copies, position, copy) < 0) {
            Py_CLEAR(copies);
        }
    }
    return copies;
}

/* are_fixed(values): tells whether none of the records can change. */
PyObject *
are_fixed(PyObject *Py_UNUSED(module), PyObject *values)
{
    if (require(values, &PyList_Type, "a list of records") < 0) {
        return NULL;
    }
    for (Py_ssize_t position = 0; position < PyList_GET_SIZE(values); position++) {
        if (is_simple(PyList_GET_ITEM(values, position))) {
            continue;
        }
        Look look = {NULL, 0, 0, 0, NULL};
        int found = look_at(PyList_GET_ITEM(values, position), 0, &look);
        if (found == REACHABLE) {
            Py_RETURN_FALSE;
        }
        if (found == UNKNOWN) {
            if (learn_kind(look.unknown) < 0) {
                return NULL;
            }
            position--; /* once more, with what is known now */
        }
    }
    Py_RETURN_TRUE;
}

/* prepare_handover(classify, copy_otherwise, instance): how to tell kinds of types, how to copy what is not copied here,
   and an instance of a class of Python's own. */
PyObject *
prepare_handover(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "prepare_handover takes three arguments");
        return NULL;
    }
    if (places == NULL) {
        name_base = PyUnicode_InternFromString("base");
        name_dtype = PyUnicode_InternFromString("dtype");
        name_hasobject = PyUnicode_InternFromString("hasobject");
        if (name_base == NULL || name_dtype == NULL || name_hasobject == NULL
            || remember_kind(&PyBytes_Type, ATOM) < 0) {
            return NULL;
        }
    }
    Py_XSETREF(classify, Py_NewRef(arguments[0]));
    Py_XSETREF(copy_otherwise, Py_NewRef(arguments[1]));
    traverse_of_classes = Py_TYPE(arguments[2])->tp_traverse;
    dealloc_of_classes = Py_TYPE(arguments[2])->tp_dealloc;
    Py_RETURN_NONE;
}
