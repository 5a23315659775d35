/* yaml.h: YAML text as a tree of nodes with their lines (libyaml behind it, in yaml.c alone).  A strict subset: one document,
 * no aliases, anchors or tags, no duplicate keys, scalar keys only, valid UTF-8 without NUL, at most LEAT_YAML_DEPTH levels.
 * Scalars stay text; what they mean is the reader's business.  Nodes are numbers, valid while the tree is open.  LOCAL. */
#ifndef LEAT_JOB_YAML_H
#define LEAT_JOB_YAML_H
#include "base/bytes.h"

enum { LEAT_YAML_DEPTH = 16 };
#define LEAT_YAML_BYTES_MAX ((size_t)256 << 20)
#define LEAT_YAML_NONE SIZE_MAX

typedef enum leat_yaml_kind { LEAT_YAML_SCALAR, LEAT_YAML_LIST, LEAT_YAML_MAP } leat_yaml_kind;

typedef struct leat_yaml_node {
    leat_yaml_kind kind;
    bool plain;                /* scalar without quotes */
    uint32_t line, origin;     /* line from 1; origin: which of the texts that were added */
    char *text;                /* scalar */
    char *key;                 /* in a map; NULL elsewhere */
    size_t first, last, after; /* children; the next one beside this */
    size_t count;              /* children */
} leat_yaml_node;

typedef struct leat_yaml {
    leat_yaml_node *nodes;
    size_t node_count, node_capacity;
    char **origins; /* names of the texts */
    size_t origin_count, origin_capacity;
} leat_yaml;

typedef enum leat_yaml_type {
    LEAT_YAML_TYPE_NULL,
    LEAT_YAML_TYPE_BOOL,
    LEAT_YAML_TYPE_INTEGER, /* decimal digits alone */
    LEAT_YAML_TYPE_NUMBER,  /* any other number */
    LEAT_YAML_TYPE_TEXT,
    LEAT_YAML_TYPE_LIST,
    LEAT_YAML_TYPE_MAP
} leat_yaml_type;

/* Adds a text; *root is its top node, LEAT_YAML_NONE for an empty one.  `name` names it in messages ("--set a=b" or a path).
 * INVALID with file and line; LIMIT: too large. */
leat_status leat_yaml_add(leat_yaml *yaml, leat_bytes text, const char *name, size_t *root,
                          leat_error *error) LEAT_MUST_USE;
void leat_yaml_deinit(leat_yaml *yaml);

leat_yaml_type leat_yaml_type_of(const leat_yaml *yaml, size_t node);
/* LEAT_YAML_NONE where the map has no such key. */
size_t leat_yaml_member(const leat_yaml *yaml, size_t map, const char *key);
/* Puts `value` (a node without a place) under `key`, in place of what is there. */
void leat_yaml_put(leat_yaml *yaml, size_t map, const char *key, size_t value);
/* A new empty map with the origin and line of `like`. */
size_t leat_yaml_map(leat_yaml *yaml, size_t like);
/* A null with the origin of the text that was added last. */
size_t leat_yaml_null(leat_yaml *yaml);
/* "file:line", or the name alone for an override; for a message. */
void leat_yaml_where(const leat_yaml *yaml, size_t node, char out[256]);
/* What the node is, in words: `the text "a"`, `a list of 3`. */
void leat_yaml_describe(const leat_yaml *yaml, size_t node, char out[128]);
/* `text` in quotes, unprintable bytes escaped, cut where it is long. */
void leat_yaml_quote(const char *text, char out[96]);
#endif
