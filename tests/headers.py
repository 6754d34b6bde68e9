#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every public header compiles by itself.      usage: headers.py COMPILER WORK_FOLDER [FLAG...]
The body of a header must see no more than what the header includes. So a translation unit holds several headers only where
none that stands earlier brings what a later one does not include."""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from clang_tools import ROOT

INCLUDE = ROOT / "include" / "tulle"

# The first error of a translation unit ends it. This one stands behind the last header, before templates are instantiated.
END = "all headers were read"

# Headers over a library that not every build has, and the macro by which it is there.
SKIPPED = {"text/sentencepiece.hpp": "TULLE_WITH_SENTENCEPIECE", "grammar/xgrammar.hpp": "TULLE_WITH_GRAMMAR"}


def direct_includes(path):
    """But for definitions, which these translation units find in tulle::compiled."""
    found = re.findall(r"^\s*#\s*include\s*<tulle/([^>]+)>", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {name for name in found if (INCLUDE / name).is_file() and not name.endswith("_inline.hpp")}


def closures(names):
    """header -> every header of ours that it includes, at any depth."""
    direct = {name: direct_includes(INCLUDE / name) for name in names}

    def reached(name):
        found, left = {name}, [name]
        while left:
            more = direct[left.pop()] - found
            found |= more
            left += more
        return found - {name}

    return {name: reached(name) for name in names}


def body_before_includes(name):
    """Whether anything but comments and directives stands before the last include outside of conditions."""
    depth, code = 0, False
    for line in (INCLUDE / name).read_text(encoding="utf-8").splitlines():
        line = line.split("//")[0].strip()
        if re.match(r"#\s*if", line):
            depth += 1
        elif re.match(r"#\s*endif", line):
            depth -= 1
        elif re.match(r"#\s*include", line):
            if code and depth == 0:
                return True
        elif line and not line.startswith("#"):
            code = True
    return False


def code_of(name):
    """Without comments and raw strings."""
    code = re.sub(r'R"(\w*)\(.*?\)\1"', '""', (INCLUDE / name).read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"//[^\n]*", "", code)


NO_NAMES = set("alignas auto bool const constexpr decltype default defined detail enum false int noexcept requires sizeof "
               "static_assert true tulle void".split())


def declared_names(code):
    """Macros, and what is declared in a namespace, whose lines begin at the margin."""
    names = set(re.findall(r"^#\s*define\s+(\w+)", code, re.MULTILINE))
    for line in re.findall(r"^(?!template\b)[A-Za-z_\[][^\n]*", code, re.MULTILINE):
        names |= set(re.findall(r"\b(?:struct|class|concept|using|enum)\s+(?:class\s+)?(\w+)", line))
        for name, end in re.findall(r"(?<![\w:.])([A-Za-z_]\w*)(?:\[[^\]]*\])?\s*([({=;])", line):
            names.add(name)
            if line.startswith("enum") or (end == "(" and name not in NO_NAMES):
                break  # what follows are enumerators or parameters
    return names - NO_NAMES


# Where names of other libraries are. A header that uses any other is compiled by itself.
FOREIGN = {name: header for header, names in {
    "algorithm": "minmax_element stable_sort adjacent_find all_of any_of clamp copy copy_n count count_if equal fill fill_n find find_if "
                 "lower_bound make_heap max max_element merge min mismatch none_of nth_element partial_sort pop_heap "
                 "push_heap reverse sort transform unique upper_bound",
    "array": "array",
    "atomic": "atomic memory_order_acq_rel memory_order_acquire memory_order_relaxed memory_order_release "
              "memory_order_seq_cst",
    "bit": "rotl bit_cast bit_ceil bit_floor countr_zero endian has_single_bit popcount", "bitset": "bitset",
    "cassert": "assert", "cctype": "isalnum isalpha tolower", "cerrno": "errno", "cfloat": "FLT_MAX",
    "charconv": "chars_format errc from_chars to_chars", "chrono": "chrono",
    "cmath": "abs ceil cos erf exp exp2 fabs floor fma fmod isfinite isinf isnan ldexp llround log log2 lround nearbyint "
             "nextafter pow round sin sqrt tanh",
    "compare": "partial_ordering", "concepts": "constructible_from convertible_to same_as", "condition_variable": "condition_variable cv_status",
    "csignal": "kill SIG_BLOCK SIG_SETMASK pthread_sigmask sigaddset sigemptyset sigismember sigpending sigwait",
    "cstddef": "byte ptrdiff_t size_t to_integer",
    "cstdint": "INT32_MAX INT64_MAX SIZE_MAX UINT32_MAX int16_t int32_t int64_t int8_t uint16_t uint32_t uint64_t uint8_t uintmax_t uintptr_t",
    "cstdio": "FILE SEEK_END SEEK_SET fclose fdopen fflush fileno fopen fread fseek ftell fwrite rename setvbuf snprintf",
    "cstdlib": "aligned_alloc atoi free getenv setenv strtod", "cstring": "memcmp memcpy memset strchr strerror",
    "ctime": "gmtime_r strftime time time_t tm",
    "deque": "deque", "exception": "current_exception exception exception_ptr rethrow_exception",
    "fcntl.h": "AT_FDCWD O_CLOEXEC O_CREAT O_EXCL O_RDONLY O_RDWR O_WRONLY open", "filesystem": "filesystem", "functional": "function greater less less_equal",
    "initializer_list": "initializer_list", 
    "iterator": "back_inserter default_sentinel_t input_iterator_tag make_move_iterator prev size",
    "limits": "numeric_limits", "fstream": "ifstream", "istream": "istream", "map": "map multimap", "memory": "make_shared make_unique make_unique_for_overwrite shared_ptr unique_ptr",
    "mutex": "lock_guard mutex unique_lock", "new": "bad_alloc nothrow", "numbers": "numbers",
    "numeric": "accumulate iota", "optional": "nullopt nullopt_t optional", "random": "mt19937_64 random_device",
    "ranges": "ranges views", "sched.h": "CPU_ISSET CPU_SET CPU_SETSIZE CPU_ZERO", "set": "set",
    "span": "as_bytes span", "sstream": "ostringstream", "streambuf": "streambuf", "stdexcept": "runtime_error",
    "string": "stod stoi string to_string u32string", "string_view": "string_view string_view_literals",
    "sys/file.h": "LOCK_EX LOCK_NB flock", "openssl/evp.h": "EVP_MAX_MD_SIZE EVP_MD EVP_MD_CTX EVP_DigestFinal_ex EVP_MD_CTX_new EVP_DigestUpdate "
                     "EVP_DigestInit_ex EVP_sha1 EVP_MD_CTX_free EVP_sha256",
    "sys/mman.h": "MADV_DONTNEED MADV_HUGEPAGE MAP_FAILED MAP_PRIVATE PROT_READ madvise mmap munmap",
    "sys/socket.h": "SHUT_RDWR SOL_SOCKET SO_ATTACH_REUSEPORT_CBPF SO_REUSEADDR SO_REUSEPORT setsockopt shutdown",
    "sys/stat.h": "S_ISREG S_IWGRP S_IWOTH fstat stat utimensat", "system_error": "error_code system_error", "thread": "this_thread thread",
    "tuple": "apply tie tuple tuple_element_t",
    "type_traits": "bool_constant conditional_t integral_constant is_arithmetic_v is_base_of_v is_enum_v is_floating_point_v is_integral_v "
                   "is_nothrow_invocable_v is_same_v is_signed_v is_trivially_copyable_v remove_cvref_t "
                   "remove_reference_t type_identity",
    "unistd.h": "close fsync geteuid getpid sysconf unlink", "unordered_map": "unordered_map",
    "utility": "as_const declval exchange forward get in_place in_range index_sequence make_index_sequence move pair swap",
    "variant": "get_if holds_alternative variant visit", "vector": "erase erase_if vector",
    "linux/filter.h": "BPF_K BPF_RET", "openssl/ssl.h": "SSL_RECEIVED_SHUTDOWN", "zlib.h": "MAX_WBITS Z_BUF_ERROR Z_MEM_ERROR Z_NO_FLUSH Z_OK Z_STREAM_END", "httplib.h": "httplib",
    "immintrin.h": "__m _mm", "nlohmann/json.hpp": "nlohmann", "xsimd/xsimd.hpp": "xsimd", "yaml-cpp/parser.h": "YAML", "prometheus/registry.h": "prometheus", "xtensor/xadapt.hpp": "xt",
}.items() for name in names.split()}


def foreign_names(code):
    """Of other libraries: what stands in std, other namespaces, beginnings of intrinsics, macros, functions of C."""
    code = re.sub(r'"(\\.|[^"\\\n])*"', "", re.sub(r"^\s*#.*$", "", code, flags=re.MULTILINE))
    names = re.findall(r"\bstd::(\w+)|\b(nlohmann|xsimd|xt|httplib|YAML|prometheus)::", code)
    names += re.findall(r"\b(assert|errno|_mm|__m)(?:\d+\w*|_\w+)?\b()", code)
    names += re.findall(r"(?<![\w>:)])::(\w+)\b()|\b(?!TULLE_)([A-Z][A-Z0-9]*_[A-Z0-9_]*|FILE)\b", code)
    return {name for pair in names for name in pair if name}


def named(code):
    """Identifiers, but for those in texts and those of members, which stand behind a point or an arrow."""
    return set(re.findall(r"(?<![\w.])(?<!->)[A-Za-z_]\w*", re.sub(r'"(\\.|[^"\\\n])*"', "", code)))


def foreign_includes(code):
    return set(re.findall(r"^\s*#\s*include\s*<((?!tulle/)[^>]+)>", code, re.MULTILINE))


def alone(names, closed):
    """The headers of which it cannot be told that they include all that they name of other libraries."""
    code = {name: code_of(name) for name in closed}
    reached = {name: set().union(*(foreign_includes(code[other]) for other in {name} | closed[name])) for name in names}
    return [name for name in names if body_before_includes(name)
            or any(FOREIGN.get(each) not in reached[name] for each in foreign_names(code[name]))]


def chains(names, closed):
    """Few lists of headers in which none that stands before another can hide what that one forgot to include: nothing is
    declared before it, in another header of ours than those that it includes, that it names."""
    code = {name: code_of(name) for name in closed}
    declared = {name: declared_names(code[name]) for name in closed}
    words = {name: named(code[name]) for name in closed}
    # What a header sees by what it includes, at any depth.
    known = {name: set().union(*(declared[other] for other in closed[name])) for name in closed}
    hidden = {name: {other for other in names if (declared[other] & words[name]) - known[name]} - closed[name]
              for name in names}  # whose declarations a header may have forgotten to include

    def place(name):
        return len(closed[name]), name

    def fits(name, other):
        before, after = sorted((name, other), key=place)
        return not ({before} | closed[before]) & hidden[after]

    units = []
    for name in sorted(names, key=place, reverse=True):  # those that include most, and cost most, together
        unit = next((unit for unit in units if all(fits(name, other) for other in unit)), None)
        if unit is None:
            units.append([name])
        else:
            unit.append(name)
    return [sorted(unit, key=place) for unit in units]


def main():
    compiler, work, flags = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    work.mkdir(parents=True, exist_ok=True)
    names = sorted(path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*.hpp"))
    closed = closures(names)
    skipped = {name for name, macro in SKIPPED.items() if not any(flag.startswith(f"-D{macro}") for flag in flags)}
    checked = [name for name in names if name not in skipped]
    apart = alone(checked, closed)
    units = [[name] for name in apart] + chains([name for name in checked if name not in apart], closed)
    units.sort(key=lambda unit: -len(closed[unit[-1]]))  # the longest first, so that no thread waits at the end
    command = [compiler, "-std=c++20", "-I", str(ROOT / "include"), *flags]

    # Other libraries are parsed once, for headers that include all that they name of them.
    foreign = work / "foreign.hpp"
    libraries = sorted(set().union(*(foreign_includes(code_of(name)) for name in checked)))
    foreign.write_text("".join(f"#if __has_include(<{name}>)\n#include <{name}>\n#endif\n" for name in libraries),
                       encoding="utf-8")
    subprocess.run([*command, "-x", "c++-header", str(foreign), "-o", f"{foreign}.gch"], check=True)

    def check(numbered):
        number, unit = numbered
        source = work / f"headers_{number}.cpp"
        source.write_text("".join(f"#include <tulle/{name}>\n" for name in unit) + f"static_assert(false, \"{END}\");\n",
                          encoding="utf-8")
        libraries = [] if unit[0] in apart else ["-include", str(foreign)]
        result = subprocess.run([*command, "-fsyntax-only", "-Wfatal-errors", *libraries, str(source)], capture_output=True,
                                text=True)
        return None if END in result.stderr else (unit, result.stderr)

    jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    with ThreadPoolExecutor(jobs) as threads:
        failures = [each for each in threads.map(check, enumerate(units)) if each]
    for unit, message in failures:
        print(f"one of {', '.join(unit)} does not compile by itself:\n{message}")
    print(f"headers: {len(checked)} in {len(units)} translation units, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
