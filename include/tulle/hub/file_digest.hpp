// SPDX-License-Identifier: Apache-2.0
/// \file Digests of files. The only include of OpenSSL (L4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <openssl/evp.h>

#include <tulle/core/error.hpp>
#include <tulle/core/progress.hpp>

namespace tulle::detail {

/// Of a file's bytes behind `prefix`, in hexadecimal digits. Errors: io; what `progress` throws.
inline std::string digest_of_file(const std::string& path, std::uint64_t size, const EVP_MD* algorithm,
                                  const std::string& prefix, const Progress& progress, const std::string& what) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)> context(::EVP_MD_CTX_new(), ::EVP_MD_CTX_free);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) fail(ErrorCode::io, "cannot open ", path);
  bool ok = context && ::EVP_DigestInit_ex(context.get(), algorithm, nullptr) == 1 &&
            ::EVP_DigestUpdate(context.get(), prefix.data(), prefix.size()) == 1;
  std::vector<unsigned char> piece(std::size_t{1} << 20);
  std::uint64_t done = 0;
  for (;;) {
    const std::size_t count = std::fread(piece.data(), 1, piece.size(), file.get());
    if (count == 0) break;
    ok = ok && ::EVP_DigestUpdate(context.get(), piece.data(), count) == 1;
    done += count;
    if (progress) progress(what, size == 0 ? 1 : static_cast<double>(done) / static_cast<double>(size));
  }
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  ok = ok && ::EVP_DigestFinal_ex(context.get(), digest, &length) == 1;
  if (!ok || done != size) fail(ErrorCode::io, "cannot read ", path, " or compute its digest");
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (unsigned int i = 0; i < length; ++i) text.append({digits[digest[i] >> 4], digits[digest[i] & 15]});
  return text;
}

/// Whether a file is the one that `etag` names: 64 digits are the SHA-256 of large files, 40 the SHA-1 that git gives a
/// blob. True for any other, which names no content.
inline bool has_etag(const std::string& path, std::uint64_t size, const std::string& etag, const Progress& progress,
                     const std::string& what) {
  if (etag.find_first_not_of("0123456789abcdef") != std::string::npos) return true;
  if (etag.size() == 64) return digest_of_file(path, size, ::EVP_sha256(), "", progress, what) == etag;
  if (etag.size() != 40) return true;
  const std::string head = "blob " + std::to_string(size) + std::string(1, '\0');
  return digest_of_file(path, size, ::EVP_sha1(), head, progress, what) == etag;
}

}  // namespace tulle::detail
