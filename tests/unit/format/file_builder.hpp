// SPDX-License-Identifier: Apache-2.0
/// \file Hand-made model files for tests: bytes, GGUF, safetensors, folders, and mutations of them.
#pragma once

#include <algorithm>
#include <catch2/catch_all.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle::test {

using Bytes = std::vector<std::byte>;

inline Bytes to_bytes(std::string_view text) {
  Bytes bytes(text.size());
  std::transform(text.begin(), text.end(), bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
  return bytes;
}

template <class T>
Bytes to_bytes(const std::vector<T>& numbers) {
  Bytes bytes(numbers.size() * sizeof(T));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

/// Of an I64 tensor.
inline Bytes sizes(const std::vector<std::int64_t>& values) {
  return to_bytes(values);
}

template <class T>
void put(Bytes& bytes, T value) {
  bytes.resize(bytes.size() + sizeof value);
  std::memcpy(bytes.data() + bytes.size() - sizeof value, &value, sizeof value);
}

inline void put_text(Bytes& bytes, std::string_view text) {
  const Bytes raw = to_bytes(text);
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

/// u64 length of the header, the header, `data_bytes` bytes 0, 1, 2, ...
inline Bytes safetensors_file(std::string_view header, std::size_t data_bytes) {
  Bytes bytes;
  put<std::uint64_t>(bytes, header.size());
  put_text(bytes, header);
  for (std::size_t i = 0; i < data_bytes; ++i) put(bytes, static_cast<std::uint8_t>(i));
  return bytes;
}

/// Writes what it is told, also what the format forbids.
class GgufBuilder {
 public:
  std::uint32_t version = 3;
  std::size_t alignment = 32;  // used for the padding; the key is the caller's matter

  static void put_string(Bytes& bytes, std::string_view text) {
    put<std::uint64_t>(bytes, text.size());
    put_text(bytes, text);
  }

  template <class T>
  GgufBuilder& value(std::string_view key, std::uint32_t type, T content) {
    begin_pair(key, type);
    put(pairs_, content);
    return *this;
  }

  GgufBuilder& u32(std::string_view key, std::uint32_t content) { return value(key, 4, content); }
  GgufBuilder& f32(std::string_view key, float content) { return value(key, 6, content); }

  GgufBuilder& text(std::string_view key, std::string_view content) {
    begin_pair(key, 8);
    put_string(pairs_, content);
    return *this;
  }

  template <class T>
  GgufBuilder& array(std::string_view key, std::uint32_t element_type, const std::vector<T>& content) {
    begin_pair(key, 9);
    put(pairs_, element_type);
    put<std::uint64_t>(pairs_, content.size());
    for (const T& element : content) {
      if constexpr (std::is_same_v<T, std::string>) {
        put_string(pairs_, element);
      } else {
        put(pairs_, element);
      }
    }
    return *this;
  }

  /// `dims` fastest first, as in the file. The offset continues the running sum unless it is given.
  GgufBuilder& tensor(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                      const Bytes& data, std::optional<std::uint64_t> offset = {}) {
    put_string(infos_, name);
    put(infos_, static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t extent : dims) put(infos_, extent);
    put(infos_, type);
    put<std::uint64_t>(infos_, offset.value_or(data_.size()));
    data_.insert(data_.end(), data.begin(), data.end());
    last_end_ = data_.size();
    data_.resize((data_.size() + alignment - 1) / alignment * alignment);
    ++tensor_count_;
    return *this;
  }

  /// `padded_end`: whether the padding after the last tensor is written.
  Bytes build(bool padded_end = true) const {
    Bytes bytes = to_bytes("GGUF");
    put(bytes, version);
    put(bytes, tensor_count_);
    put(bytes, pair_count_);
    bytes.insert(bytes.end(), pairs_.begin(), pairs_.end());
    bytes.insert(bytes.end(), infos_.begin(), infos_.end());
    if (tensor_count_ > 0) bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    const std::size_t size = padded_end ? data_.size() : last_end_;
    bytes.insert(bytes.end(), data_.begin(), data_.begin() + static_cast<std::ptrdiff_t>(size));
    return bytes;
  }

 private:
  void begin_pair(std::string_view key, std::uint32_t type) {
    put_string(pairs_, key);
    put(pairs_, type);
    ++pair_count_;
  }

  Bytes pairs_, infos_, data_;
  std::size_t last_end_ = 0;
  std::uint64_t pair_count_ = 0, tensor_count_ = 0;
};

/// `count` floats 0.5, 1.5, 2.5, ...
inline Bytes float_bytes(std::size_t count) {
  Bytes bytes;
  for (std::size_t i = 0; i < count; ++i) put(bytes, static_cast<float>(i) + 0.5f);
  return bytes;
}

/// A llama of one layer, 4 wide with 2 heads and 6 tokens, complete but for its meaning.
inline GgufBuilder tiny_llama_gguf() {
  GgufBuilder gguf;
  gguf.text("general.architecture", "llama").u32("llama.block_count", 1).u32("llama.embedding_length", 4);
  gguf.u32("llama.context_length", 16).u32("llama.feed_forward_length", 8).u32("llama.attention.head_count", 2);
  gguf.f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  gguf.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "smollm");
  gguf.array<std::string>("tokenizer.ggml.tokens", 8, {"a", "b", "ab", "<|end|>", "c", "d"});
  gguf.array<std::int32_t>("tokenizer.ggml.token_type", 5, {1, 1, 1, 3, 1, 1});
  gguf.array<std::string>("tokenizer.ggml.merges", 8, {"a b"});
  gguf.u32("tokenizer.ggml.bos_token_id", 3).u32("tokenizer.ggml.eos_token_id", 3);
  gguf.text("tokenizer.chat_template", "{{ messages }}");
  gguf.tensor("token_embd.weight", {4, 6}, 0, float_bytes(24)).tensor("output_norm.weight", {4}, 0, float_bytes(4));
  gguf.tensor("blk.0.attn_q.weight", {4, 4}, 0, float_bytes(16))
      .tensor("blk.0.ffn_up.weight", {4, 8}, 0, float_bytes(32));
  return gguf;
}

/// A folder that vanishes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    static std::mt19937_64 random(std::random_device{}());
    path_ = std::filesystem::temp_directory_path() / ("tulle-test-" + std::to_string(random()));
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path() const { return path_.string(); }
  std::string path(std::string_view name) const { return (path_ / name).string(); }

  std::string write(std::string_view name, std::span<const std::byte> bytes) const {
    std::ofstream file(path_ / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path(name);
  }
  std::string write(std::string_view name, std::string_view text) const { return write(name, to_bytes(text)); }

 private:
  std::filesystem::path path_;
};

/// The code of the error that `call` throws; nothing when it throws none.
template <class Call>
std::optional<ErrorCode> error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    INFO(error.what());
    CHECK(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return error.code();
  }
  return std::nullopt;
}

template <class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// Reads every byte of every tensor, so that a sanitizer sees a view that leaves the file.
inline unsigned sum_of(const std::vector<EncodedTensor>& tensors) {
  unsigned sum = 0;
  for (const EncodedTensor& tensor : tensors) {
    for (const std::byte byte : tensor.bytes) sum += static_cast<unsigned>(byte);
  }
  return sum;
}

/// Calls `parse` with every proper prefix, with every byte changed in four ways, and with `random_count` copies of the
/// bytes in which up to four are random, some cut short. Each call must return or throw `Error`. A copy has its own
/// allocation of exactly its size. Returns how many calls threw.
template <class Parse>
std::size_t survive_mutations(const Bytes& file, std::size_t random_count, Parse parse) {
  std::size_t refused = 0;
  const auto attempt = [&](const Bytes& bytes) {
    const Bytes copy(bytes.begin(), bytes.end());
    try {
      parse(copy);
    } catch (const Error&) {
      ++refused;
    }
  };
  for (std::size_t size = 0; size < file.size(); ++size) {
    attempt(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)));
  }
  Bytes mutated = file;
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (const std::byte value : {file[at] ^ std::byte{1}, file[at] ^ std::byte{0x80}, std::byte{0}, std::byte{0xFF}}) {
      mutated[at] = value;
      attempt(mutated);
    }
    mutated[at] = file[at];
  }
  std::mt19937 random(20240607);
  for (std::size_t i = 0; i < random_count; ++i) {
    mutated = file;
    for (std::size_t change = 0; change <= random() % 4; ++change) {
      mutated[random() % mutated.size()] = static_cast<std::byte>(random());
    }
    if (random() % 4 == 0) mutated.resize(random() % mutated.size() + 1);
    attempt(mutated);
  }
  return refused;
}

}  // namespace tulle::test
