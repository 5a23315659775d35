/* The part "post_processor" of a tokenizer.json: the special tokens it puts around a single text. */
#include "base/memory.h"
#include "tokenize/model.h"

leat_status leat_load_post(leat_load *load, leat_json_value json)
{
    (void)load;
    (void)json;
    return LEAT_OK;
}
