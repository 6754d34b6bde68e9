// SPDX-License-Identifier: Apache-2.0
/// \file Hugging Face directories with pytorch_model.bin, one file or shards with an index (L3).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/checked.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/input_file.hpp>
#include <tulle/format/checkpoint_opener.hpp>
#include <tulle/format/pytorch/torch_pickle.hpp>
#include <tulle/format/pytorch/zip_archive.hpp>
#include <tulle/format/safetensors_checkpoint.hpp>

namespace tulle {

namespace detail {

/// Whether elements of these sizes lie one after the other, the last dimension the fastest.
inline bool is_contiguous(std::span<const std::uint64_t> sizes, std::span<const std::uint64_t> strides) noexcept {
  std::uint64_t step = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != step) return false;
    step *= sizes[i];
  }
  return true;
}

/// The bytes of a pickled tensor in its archive. A matrix whose columns lie one after the other is `transposed`.
/// Errors: malformed where it leaves its storage, unsupported for other views.
inline EncodedTensor locate_pickled_tensor(const PickledTensor& tensor, const ZipArchive::Range& storage,
                                           std::string_view where) {
  const std::string what = std::string(where) + ": tensor " + quoted_name(tensor.name);
  const std::size_t storage_element = dtype_info(tensor.storage_dtype).block_bytes;
  const std::size_t element = dtype_info(tensor.dtype).block_bytes;
  if (storage.size % storage_element != 0 || tensor.storage_elements != storage.size / storage_element) {
    fail(ErrorCode::malformed, what, " has a storage of ", storage.size, " bytes where its pickle says ",
         tensor.storage_elements, " elements of ", storage_element);
  }
  EncodedTensor result{tensor.name, tensor.dtype, {}, {}};
  std::size_t elements = 1;
  for (const std::uint64_t size : tensor.sizes) {
    if (size > SIZE_MAX) fail(ErrorCode::malformed, what, " is too large");
    result.shape.push_back(static_cast<std::size_t>(size));
    elements = checked_multiply(elements, result.shape.back(), what);
  }
  if (elements != 0 && !is_contiguous(tensor.sizes, tensor.strides)) {
    if (tensor.sizes.size() == 2 && is_float_dtype(tensor.dtype)) {
      const std::array sizes{tensor.sizes[1], tensor.sizes[0]}, strides{tensor.strides[1], tensor.strides[0]};
      result.transposed = is_contiguous(sizes, strides);
    }
    if (!result.transposed) {
      fail(ErrorCode::unsupported, what, " is a view whose elements do not lie one after the other; save the model ",
           "after tensor.contiguous()");
    }
  }
  const std::uint64_t available = storage.size / element;
  if (tensor.offset > available || elements > available - tensor.offset) {
    fail(ErrorCode::malformed, what, " has ", elements, " elements from ", tensor.offset, " on in a storage of ",
         available);
  }
  result.file_offset = storage.offset + tensor.offset * element;
  return result;
}

/// Errors: unsupported for files of torch before 1.6 and for other byte orders, malformed.
inline void open_pytorch(const ModelFiles& files, const std::string& name, CheckpointParts& parts) {
  constexpr std::uint64_t largest_pickle = std::uint64_t{1} << 26, legacy_begin = 0x469CFC6C0A8A0280;
  const InputFile& file = parts.tensors.keep(files.open(name));
  const std::string where = files.path(name);
  const auto with_bytes = [&](const ZipArchive::Range& range, auto&& work) {
    const std::span<const std::byte> bytes = file.view(range.offset, range.size);
    work(bytes);
    file.release(bytes);
  };
  if (file.size() >= 8) {
    with_bytes({0, 8}, [&](std::span<const std::byte> bytes) {
      if (load_unaligned<std::uint64_t>(bytes.data()) != legacy_begin) return;
      fail(ErrorCode::unsupported, where, " is of the form that torch wrote before 1.6; load it with torch.load(path, ",
           "weights_only=True) and save it again, or save the model as safetensors");
    });
  }
  const ZipArchive archive(file, where);
  constexpr std::string_view pickle_name = "/data.pkl";
  const std::string pickle_path(archive.find_end(pickle_name));
  if (pickle_path.empty()) fail(ErrorCode::malformed, where, " holds no data.pkl; did torch.save write it?");
  const std::string root = pickle_path.substr(0, pickle_path.size() - pickle_name.size() + 1);
  if (archive.has(root + "byteorder")) {
    with_bytes(archive.locate(root + "byteorder"), [&](std::span<const std::byte> bytes) {
      if (bytes.empty() || bytes[0] != std::byte{'l'}) {
        fail(ErrorCode::unsupported, where, " was not written in the byte order \"little\"");
      }
    });
  }
  const ZipArchive::Range pickle = archive.locate(pickle_path);
  if (pickle.size > largest_pickle) {
    fail(ErrorCode::malformed, where, ": a pickle of ", pickle.size, " bytes is over the limit of ", largest_pickle);
  }
  with_bytes(pickle, [&](std::span<const std::byte> bytes) {
    const std::vector<PickledTensor> tensors = TorchPickle(bytes, where).run();
    if (tensors.empty()) {
      fail(ErrorCode::malformed, where, " holds no dict from names to tensors; save the state dict itself");
    }
    for (const PickledTensor& tensor : tensors) {
      const ZipArchive::Range storage = archive.locate(root + "data/" + std::string(tensor.storage));
      parts.tensors.replace(locate_pickled_tensor(tensor, storage, where), file, parts.path);
    }
  });
}

inline constexpr char pytorch_name[] = "pytorch_model.bin", pytorch_shards_name[] = "pytorch_model.bin.index.json";

}  // namespace detail

inline constexpr CheckpointOpener pytorch_opener{"pytorch", detail::find_huggingface<detail::pytorch_name>,
                                                 detail::native_only(detail::open_one_file<detail::open_pytorch>)};
inline constexpr CheckpointOpener pytorch_shards_opener{"pytorch",
                                                        detail::find_huggingface<detail::pytorch_shards_name>,
                                                        detail::native_only(detail::open_shards<detail::open_pytorch>)};

}  // namespace tulle
