/* Bytes, hex, buffers, readers, SHA-256 and errors: the base that everything stands on. */
#include "base/bytes.h"
#include "base/sha256.h"
#include "base/json_out.h"
#include "check.h"

static void test_fields(void)
{
    uint8_t bytes[8];
    leat_put_u64(bytes, 0x0123456789abcdefu);
    CHECK_U64("first byte is the lowest", bytes[0], 0xef);
    CHECK_U64("round trip", leat_get_u64(bytes), 0x0123456789abcdefu);
    leat_reader reader = {bytes, sizeof bytes, 0, false};
    CHECK_U64("half", leat_reader_u32(&reader), 0x89abcdefu);
    CHECK_U64("past the end gives 0", leat_reader_u64(&reader), 0);
    CHECK(reader.failed);
}

static void test_hex(void)
{
    uint8_t digest[LEAT_SHA256_BYTES], back[LEAT_SHA256_BYTES];
    char text[65];
    leat_sha256_of("abc", 3, digest);
    leat_hex(digest, sizeof digest, text);
    CHECK_TEXT("FIPS 180-2 example", text,
               "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(leat_unhex(text, back, sizeof back));
    CHECK(memcmp(digest, back, sizeof back) == 0);
    CHECK(!leat_unhex("0g", back, 1));
    CHECK(!leat_unhex("012", back, 1));
}

static void test_json(void)
{
    leat_buffer buffer = {0};
    leat_json_out out = {&buffer, false};
    leat_json_object(&out);
    leat_json_key_text(&out, "a", "\"\\\n\xc3\xa9");
    leat_json_key(&out, "b");
    leat_json_array(&out);
    leat_json_u64(&out, UINT64_MAX);
    leat_json_i64(&out, -1);
    leat_json_null(&out);
    leat_json_array_end(&out);
    leat_json_key_hex(&out, "c", (const uint8_t *)"\x01\xff", 2);
    leat_json_object_end(&out);
    CHECK_TEXT(
        "object", leat_buffer_text(&buffer),
        "{\"a\":\"\\\"\\\\\\u000a\xc3\xa9\",\"b\":[18446744073709551615,-1,null],\"c\":\"01ff\"}");
    leat_buffer_deinit(&buffer);
}

int main(void)
{
    test_fields();
    test_hex();
    test_json();
    return check_done();
}
