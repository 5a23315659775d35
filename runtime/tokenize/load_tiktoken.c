/* A .tiktoken file: lines of a token in base64 and its rank. */
#include "tokenize/model.h"

leat_status leat_load_tiktoken(leat_load *load, leat_bytes file)
{
    (void)file;
    return leat_load_damaged(load, "the file", "a JSON object");
}
