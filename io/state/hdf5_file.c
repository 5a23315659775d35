#include "io/state/hdf5_file.h"
#include "base/memory.h"
#include <hdf5.h>

/* Longer fields are deflated: settings of a thousand datasets are repetitive text. */
enum { PLAIN_BYTES_MAX = 256, DEFLATE_LEVEL = 6, MEMORY_INCREMENT = 1 << 16 };

static herr_t first_cause(unsigned n, const H5E_error2_t *entry, void *out)
{
    if (n == 0) {
        snprintf(out, 160, "%s", entry->desc != NULL ? entry->desc : "no reason given");
    }
    return 0;
}

/* One line from HDF5's stack of errors: its innermost entry is the cause. */
static leat_status hdf5_failed(leat_error *error, leat_status status, const char *doing,
                               const char *name)
{
    char cause[160] = "no reason given";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first_cause, cause);
    H5Eclear2(H5E_DEFAULT);
    LEAT_FAIL(error, status, "HDF5 cannot %s %s: %s", doing, name, cause);
    leat_error_found(error, "%s", cause);
    return status;
}

bool leat_hdf5_version(char *out, size_t size)
{
    unsigned major = 0, minor = 0, release = 0;
    bool known = H5get_libversion(&major, &minor, &release) >= 0;
    snprintf(out, size, "%u.%u.%u", major, minor, release);
    return known && major == H5_VERS_MAJOR && minor == H5_VERS_MINOR && release == H5_VERS_RELEASE;
}

/* HDF5 would abort the process by itself where library and header differ; it also prints its errors unless told otherwise,
 * each thread anew. */
static leat_status prepare(leat_error *error)
{
    unsigned major, minor, release;
    if (H5get_libversion(&major, &minor, &release) < 0 || major != H5_VERS_MAJOR ||
        minor != H5_VERS_MINOR || release != H5_VERS_RELEASE) {
        LEAT_FAIL(error, LEAT_ENVIRONMENT, "the HDF5 library is not the one leat was built with");
        leat_error_found(error, "%u.%u.%u", major, minor, release);
        leat_error_wanted(error, "%d.%d.%d", H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE);
        leat_error_hint(error, "build leat again, or put the old library into LD_LIBRARY_PATH");
        return error->status;
    }
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return LEAT_OK;
}

/* The image lives in memory, but HDF5 refuses it where a file of its name exists: nothing can exist below /dev/null. */
static const char IMAGE_NAME[] = "/dev/null/leat-checkpoint";

/* The earliest layout: any HDF5 reads it, and its superblock is the one whose bytes H5Fget_file_image gives right (1.10.8 clears
 * flags in a later superblock without renewing its checksum). */
static hid_t access_list(void)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access >= 0 && (H5Pset_fapl_core(access, MEMORY_INCREMENT, 0) < 0 ||
                        H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18) < 0)) {
        H5Pclose(access);
        return -1;
    }
    return access;
}

static hid_t type_of(const leat_hdf5_field *field)
{
    if (field->kind == LEAT_HDF5_NUMBER) {
        return H5Tcopy(H5T_STD_U64LE);
    }
    if (field->kind == LEAT_HDF5_BYTES) {
        return H5Tcopy(H5T_STD_U8LE);
    }
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0 &&
        (H5Tset_size(type, field->content.size != 0 ? field->content.size : 1) < 0 ||
         H5Tset_strpad(type, H5T_STR_NULLPAD) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0)) {
        H5Tclose(type);
        return -1;
    }
    return type;
}

/* Times are left out, so that equal content gives equal bytes; a text is one element, so that h5dump shows it whole. */
static hid_t creation_list(const leat_hdf5_field *field, hsize_t elements)
{
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    bool deflate = field->kind != LEAT_HDF5_NUMBER && field->content.size > PLAIN_BYTES_MAX &&
                   H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0;
    if (list >= 0 && (H5Pset_obj_track_times(list, 0) < 0 ||
                      (deflate && (H5Pset_chunk(list, 1, &elements) < 0 ||
                                   H5Pset_deflate(list, DEFLATE_LEVEL) < 0)))) {
        H5Pclose(list);
        return -1;
    }
    return list;
}

static bool write_field(hid_t file, const leat_hdf5_field *field)
{
    static const uint8_t nothing[1] = {0};
    uint8_t number[8];
    leat_put_u64(number, field->number);
    const void *data = field->kind == LEAT_HDF5_NUMBER ? number
                       : field->content.size == 0      ? nothing
                                                       : field->content.data;
    hsize_t elements = field->kind == LEAT_HDF5_BYTES ? field->content.size : 1;
    hid_t type = type_of(field), space = H5Screate_simple(1, &elements, NULL);
    hid_t list = creation_list(field, elements);
    hid_t set = H5Dcreate2(file, field->name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    bool ok = set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    ok = (set < 0 || H5Dclose(set) >= 0) && ok;
    if (list >= 0) {
        H5Pclose(list);
    }
    if (space >= 0) {
        H5Sclose(space);
    }
    if (type >= 0) {
        H5Tclose(type);
    }
    return ok;
}

leat_status leat_hdf5_write(const leat_hdf5_field *fields, size_t count, leat_buffer *image,
                            leat_error *error)
{
    leat_status status = prepare(error);
    if (status != LEAT_OK) {
        return status;
    }
    hid_t access = access_list(), create = H5Pcreate(H5P_FILE_CREATE), file = -1;
    /* Small index nodes: a dataset here has one chunk, and the default node takes 2 KiB for it. */
    if (access < 0 || create < 0 || H5Pset_istore_k(create, 1) < 0 ||
        H5Pset_obj_track_times(create, 0) < 0 ||
        (file = H5Fcreate(IMAGE_NAME, H5F_ACC_TRUNC, create, access)) < 0) {
        status = hdf5_failed(error, LEAT_IO, "make", "a file in memory");
        goto done;
    }
    for (size_t i = 0; i < count; i++) {
        if (fields[i].content.size > LEAT_HDF5_FIELD_BYTES_MAX) {
            status = LEAT_FAIL(error, LEAT_LIMIT, "the field %s has more than %d bytes",
                               fields[i].name, LEAT_HDF5_FIELD_BYTES_MAX);
            goto done;
        }
        if (!write_field(file, &fields[i])) {
            status = hdf5_failed(error, LEAT_IO, "write the field", fields[i].name);
            goto done;
        }
    }
    ssize_t size;
    if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0 || (size = H5Fget_file_image(file, NULL, 0)) < 0 ||
        H5Fget_file_image(file, leat_buffer_extend(image, (size_t)size), (size_t)size) != size) {
        status = hdf5_failed(error, LEAT_IO, "give the bytes of", "a file in memory");
    }
done:
    if (file >= 0 && H5Fclose(file) < 0 && status == LEAT_OK) {
        status = hdf5_failed(error, LEAT_IO, "close", "a file in memory");
    }
    if (create >= 0) {
        H5Pclose(create);
    }
    if (access >= 0) {
        H5Pclose(access);
    }
    return status;
}

static leat_status unlike(leat_error *error, const char *name, const char *wanted)
{
    LEAT_FAIL(error, LEAT_CORRUPT, "the field %s is not as leat writes it", name);
    leat_error_wanted(error, "%s", wanted);
    return error->status;
}

/* The sizes that the file claims are checked before anything is allocated for them. */
static leat_status read_content(hid_t set, hid_t type, hid_t space, leat_hdf5_field *field,
                                leat_error *error)
{
    hsize_t elements = 0;
    bool text = field->kind == LEAT_HDF5_TEXT;
    if (H5Sget_simple_extent_ndims(space) != 1 ||
        H5Sget_simple_extent_dims(space, &elements, NULL) != 1 ||
        elements > LEAT_HDF5_FIELD_BYTES_MAX || H5Tget_size(type) > LEAT_HDF5_FIELD_BYTES_MAX) {
        return unlike(error, field->name, "one dimension, below 1 GiB");
    }
    if (text ? H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0 || elements != 1
             : H5Tget_class(type) != H5T_INTEGER ||
                   H5Tget_size(type) != (field->kind == LEAT_HDF5_NUMBER ? 8 : 1) ||
                   (field->kind == LEAT_HDF5_NUMBER && elements != 1)) {
        return unlike(error, field->name,
                      text                              ? "one string of fixed length"
                      : field->kind == LEAT_HDF5_NUMBER ? "one 64-bit number"
                                                        : "bytes");
    }
    if (field->kind == LEAT_HDF5_NUMBER) {
        if (H5Dread(set, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &field->number) < 0) {
            return hdf5_failed(error, LEAT_CORRUPT, "read the field", field->name);
        }
        return LEAT_OK;
    }
    size_t size = text ? H5Tget_size(type) : (size_t)elements;
    leat_buffer_clear(field->out);
    uint8_t *data = leat_buffer_extend(field->out, size);
    if (size > 0 && H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) {
        return hdf5_failed(error, LEAT_CORRUPT, "read the field", field->name);
    }
    while (text && field->out->size > 0 && data[field->out->size - 1] == '\0') {
        field->out->size--;
    }
    return LEAT_OK;
}

static leat_status read_field(hid_t file, leat_hdf5_field *field, leat_error *error)
{
    if (H5Lexists(file, field->name, H5P_DEFAULT) <= 0) {
        return LEAT_FAIL(error, LEAT_CORRUPT, "the field %s is missing", field->name);
    }
    leat_status status = LEAT_OK;
    hid_t set = H5Dopen2(file, field->name, H5P_DEFAULT), type = -1, space = -1;
    if (set < 0 || (type = H5Dget_type(set)) < 0 || (space = H5Dget_space(set)) < 0) {
        status = hdf5_failed(error, LEAT_CORRUPT, "open the field", field->name);
    } else {
        status = read_content(set, type, space, field, error);
    }
    if (space >= 0) {
        H5Sclose(space);
    }
    if (type >= 0) {
        H5Tclose(type);
    }
    if (set >= 0) {
        H5Dclose(set);
    }
    return status;
}

leat_status leat_hdf5_read(leat_bytes image, leat_hdf5_field *fields, size_t count,
                           leat_error *error)
{
    leat_status status = prepare(error);
    if (status != LEAT_OK) {
        return status;
    }
    leat_buffer copy = {0}; /* HDF5 wants a writable pointer, and makes a copy of its own */
    leat_buffer_add(&copy, image.data, image.size);
    hid_t access = access_list(), file = -1;
    if (access < 0 || H5Pset_file_image(access, copy.data, copy.size) < 0 ||
        (file = H5Fopen(IMAGE_NAME, H5F_ACC_RDONLY, access)) < 0) {
        status = hdf5_failed(error, LEAT_CORRUPT, "open", "these bytes");
    }
    for (size_t i = 0; i < count && status == LEAT_OK; i++) {
        status = read_field(file, &fields[i], error);
    }
    if (file >= 0) {
        H5Fclose(file);
    }
    if (access >= 0) {
        H5Pclose(access);
    }
    leat_buffer_deinit(&copy);
    return status;
}
