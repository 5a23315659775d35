/* A tokenizer file, and a text through what it gives. */
#include "fuzz/fuzz.h"
#include "tokenize/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char text[] =
        "The mill's wheel, 1234 \xc3\xa9\xe2\x82\xac\n\n  turns<|endoftext|>!";
    leat_tokenizer *tokenizer = NULL;
    leat_error error;
    if (leat_tokenizer_open(&tokenizer, (leat_bytes){data, size}, "tokenizer.json", &error) ==
        LEAT_OK) {
        leat_encoder *encoder = leat_encoder_open(tokenizer, 1 << 16);
        leat_tokens tokens = {0};
        if (leat_encode(encoder, (leat_bytes){(const uint8_t *)text, sizeof text - 1}, &tokens,
                        &error) == LEAT_OK &&
            leat_encode_special(encoder, (leat_bytes){data, size}, &tokens, &error) == LEAT_OK) {
            for (size_t i = 0; i < tokens.count; i++) {
                (void)leat_tokenizer_token(tokenizer, tokens.ids[i]);
            }
        }
        leat_tokens_deinit(&tokens);
        leat_encoder_close(encoder);
    }
    leat_tokenizer_close(tokenizer);
    return 0;
}
