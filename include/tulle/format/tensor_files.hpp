// SPDX-License-Identifier: Apache-2.0
/// \file The tensors of several files by name, and the files they are read from (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/input_file.hpp>
#include <tulle/format/encoding/encodings.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

/// Files on disk stay mapped as long as the object lives, lent files are read when a tensor is; nothing is decoded.
/// Threads: immutable once all tensors are added.
class TensorFiles final : public TensorSource {
 public:
  /// The file lives as long as this object.
  const InputFile& keep(std::shared_ptr<const InputFile> file) {
    files_.push_back(std::move(file));
    return *files_.back();
  }

  /// `file` was kept. `where` names the model in messages. Errors: malformed for a name that is there already.
  void add(EncodedTensor tensor, const InputFile& file, std::string_view where) {
    const std::size_t bytes = tensor.size_bytes();
    size_bytes_ += bytes;
    if (file.in_memory()) tensor.bytes = file.view(tensor.file_offset, bytes);  // those of lent files: `read`
    std::string name = tensor.name;
    add_entry(std::move(name), Entry{std::move(tensor), &file}, where);
  }

  /// As `add`, but for a tensor of that name from another file, whose place it takes.
  void replace(EncodedTensor tensor, const InputFile& file, std::string_view where) {
    const auto found = tensors_.find(tensor.name);
    if (found != tensors_.end() && found->second.file != &file) {
      size_bytes_ -= found->second.tensor.size_bytes();
      tensors_.erase(found);
    }
    add(std::move(tensor), file, where);
  }

  /// Puts in the place of every tensor those that work(tensor, put) puts: put(EncodedTensor), over the same bytes or a
  /// part of them. Errors: as `add`.
  template <class Work>
  void change(Work&& work, std::string_view where) {
    for (auto& [name, entry] : std::exchange(tensors_, {})) {
      const InputFile* file = entry.file;
      work(std::move(entry.tensor), [&](EncodedTensor tensor) {
        std::string changed = tensor.name;
        add_entry(std::move(changed), {std::move(tensor), file}, where);
      });
    }
  }

  /// The file that holds a tensor, or nullptr.
  const InputFile* file_of(std::string_view name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : found->second.file;
  }

  /// Whether both tensors are there with the same type, shape and bytes. Reads up to the first MiB that differs.
  bool are_equal(std::string_view first, std::string_view second) const {
    const auto a = tensors_.find(first), b = tensors_.find(second);
    if (a == tensors_.end() || b == tensors_.end()) return false;
    const EncodedTensor &x = a->second.tensor, &y = b->second.tensor;
    if (x.dtype != y.dtype || x.shape != y.shape || x.transposed != y.transposed) return false;
    const InputFile &file = *a->second.file, &other = *b->second.file;
    if (&file == &other && x.file_offset == y.file_offset) return true;
    constexpr std::size_t max_bytes = std::size_t{1} << 20;
    bool equal = true;
    for (std::size_t at = 0, size = x.size_bytes(); equal && at < size; at += max_bytes) {
      const std::size_t count = std::min(max_bytes, size - at);
      const auto left = file.view(x.file_offset + at, count), right = other.view(y.file_offset + at, count);
      equal = std::memcmp(left.data(), right.data(), count) == 0;
      file.release(left);
      other.release(right);
    }
    return equal;
  }

  std::size_t size_bytes() const noexcept { return size_bytes_; }  ///< of all tensors, as encoded

  const EncodedTensor* find(std::string_view name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second.tensor;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    all.reserve(tensors_.size());
    for (const auto& [name, entry] : tensors_) all.push_back(name);
    return all;
  }
  std::shared_ptr<const WeightSource> matrix(const std::string& name) const override {
    return open_matrix(*this, name);
  }
  std::span<const std::byte> read(const EncodedTensor& tensor) const override {
    const InputFile* file = file_of(tensor.name);
    if (file == nullptr || file->in_memory()) return tensor.bytes;
    return file->view(tensor.file_offset, tensor.size_bytes());
  }
  void release(std::span<const std::byte> bytes) const noexcept override {
    for (const auto& file : files_) file->release(bytes);
  }

 private:
  struct Entry {
    EncodedTensor tensor;
    const InputFile* file;
  };

  void add_entry(std::string name, Entry entry, std::string_view where) {
    const auto [place, added] = tensors_.try_emplace(std::move(name), std::move(entry));
    if (!added) fail(ErrorCode::malformed, where, ": tensor ", detail::quoted_name(place->first), " appears twice");
  }

  std::vector<std::shared_ptr<const InputFile>> files_;
  std::map<std::string, Entry, std::less<>> tensors_;
  std::size_t size_bytes_ = 0;
};

}  // namespace tulle
