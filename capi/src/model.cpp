// SPDX-License-Identifier: Apache-2.0
#include "model.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/progress.hpp>
#include <tulle/format/gguf_tokenizer.hpp>
#include <tulle/format/model_files.hpp>
#include <tulle/format/tokenizer_files.hpp>
#include <tulle/generate/packed_cache.hpp>
#include <tulle/text/no_tokenizer.hpp>

#include "arguments.hpp"
#include "compiled/hub.hpp"
#include "guard.hpp"
#include "tulle_experimental.h"

#ifdef TULLE_WITH_SENTENCEPIECE
#include <tulle/text/sentencepiece.hpp>
using SentencePiece = tulle::SentencePieceLibrary;
#else
using SentencePiece = tulle::OwnSentencePiece;
#endif

namespace tulle::capi {

ModelTable& models() {
  static auto* table = new ModelTable;  // never destroyed: threads may outlive the end of main
  return *table;
}

std::shared_ptr<const LoadedModel> model_of(const tulle_model* handle) {
  auto model = models().find(reinterpret_cast<std::uintptr_t>(handle));
  if (model == nullptr)
    fail(invalid_handle, handle == nullptr ? "the model is NULL" : "this is no model, or it was freed");
  return model;
}

namespace {

constexpr tulle_load_options load_defaults{sizeof(tulle_load_options), 0, {nullptr, 0}, nullptr, nullptr, {nullptr, 0}};

/// The options of one call of a load function.
class Loading {
 public:
  explicit Loading(const tulle_load_options* given)
      : options_(read_struct(given, load_defaults, "tulle_load_options")) {
    check_flags(options_.flags, TULLE_VERIFY_PACKED);
    assembly_ = parse_assembly(read_text(options_.assembly, "the assembly"));
    if constexpr (!is_web) {
      packed_ = {std::string(read_text(options_.packed_cache, "the packed cache")),
                 (options_.flags & TULLE_VERIFY_PACKED) != 0};
    }
  }

  /// Errors: cancelled when the caller's function does not return 0.
  void progress(std::string_view what, double fraction) const {
    if (options_.progress == nullptr) return;
    if (options_.progress(options_.progress_context, what.data(), what.size(), fraction) != 0) {
      fail(ErrorCode::cancelled, "loading was ended by the progress function");
    }
  }

  /// A file or folder, whose packed weights may be kept.
  tulle_model* load_path(const std::string& path, std::vector<AdapterPath> adapters) {
    auto tokenizer = load_tokenizer_if_any<SentencePiece>(path);
    std::string chat_template = load_chat_template(path);
    auto loaded = std::make_shared<LoadedModel>();
    loaded->open = [path, adapters = std::move(adapters)] { return Checkpoint::open(path, adapters); };
    loaded->model = load_packed<AnyKernel>(*loaded->open(), pack_options(), packed_, report());
    return add(std::move(loaded), std::move(tokenizer), std::move(chat_template));
  }

  tulle_model* load(const Checkpoint& checkpoint, std::shared_ptr<const Tokenizer> tokenizer,
                    std::string chat_template) {
    if (!is_web && !packed_.where.empty() && packed_.where != "off") {
      fail(ErrorCode::invalid_argument, "packed weights are kept of models that are loaded from a path");
    }
    auto loaded = std::make_shared<LoadedModel>();
    loaded->model = Model<AnyKernel>::load(checkpoint, pack_options(), report());
    return add(std::move(loaded), std::move(tokenizer), std::move(chat_template));
  }

  tulle_model* load_gguf(const Checkpoint& checkpoint) {
    const bool has_tokens = checkpoint.gguf()->arrays.contains("tokenizer.ggml.tokens");
    return load(checkpoint,
                has_tokens ? tokenizer_from_gguf(*checkpoint.gguf()) : std::make_shared<const NoTokenizer>(),
                chat_template_from_gguf(*checkpoint.gguf()));
  }

 private:
  PackOptions pack_options() const {
    PackOptions pack;
    pack.kernel = kernel_choice(assembly_.kernel);
    return pack;
  }
  Progress report() const {
    return [this](std::string_view what, double fraction) { progress(what, fraction); };
  }
  tulle_model* add(std::shared_ptr<LoadedModel> loaded, std::shared_ptr<const Tokenizer> tokenizer,
                   std::string chat_template) {
    loaded->tokenizer = std::move(tokenizer);
    loaded->chat_template = std::move(chat_template);
    loaded->assembly = std::move(assembly_);
    return reinterpret_cast<tulle_model*>(models().add(std::move(loaded)));
  }

  tulle_load_options options_;
  Assembly assembly_;
  PackedCache packed_;
};

/// Errors: io when the caller's function fails.
void read_part(tulle_read read, void* context, std::uint64_t offset, std::span<std::byte> out) {
  if (const std::int32_t status = read(context, offset, out.data(), out.size()); status != 0) {
    fail(ErrorCode::io, "the read function returned ", status, " for ", out.size(), " bytes at ", offset);
  }
}

constexpr tulle_file file_defaults{sizeof(tulle_file), 0, {nullptr, 0}, 0, nullptr, nullptr};

/// Calls use(struct) for each of an array, whose structs follow each other in the caller's size.
/// Errors: invalid_argument where sizes differ; those of `read_struct`.
template <class Struct, class Use>
void read_structs(const Struct* first, std::size_t count, const Struct& defaults, std::string_view name, Use&& use) {
  const auto* bytes = reinterpret_cast<const std::byte*>(first);
  for (std::size_t i = 0; i < count; ++i) {
    const auto* each = reinterpret_cast<const Struct*>(bytes + i * first->struct_size);
    if (each->struct_size != first->struct_size) {
      fail(ErrorCode::invalid_argument, name, ".struct_size differs inside an array");
    }
    use(read_struct(each, defaults, name));
  }
}

/// Errors: invalid_argument.
GivenFiles given_files(const tulle_file* files, std::size_t count) {
  constexpr std::size_t most = 65536;
  if (files == nullptr || count == 0 || count > most) {
    fail(ErrorCode::invalid_argument, "a model has 1 to ", most, " files, not ", files == nullptr ? 0 : count);
  }
  std::vector<GivenFiles::File> given;
  read_structs(files, count, file_defaults, "tulle_file", [&](const tulle_file& file) {
    if (file.reserved != 0) fail(ErrorCode::invalid_argument, "tulle_file.reserved must be 0");
    if (file.read == nullptr) fail(ErrorCode::invalid_argument, "the read function of a file is NULL");
    given.push_back({std::string(read_text(file.name, "the name of a file")), file.size,
                     [read = file.read, context = file.context](std::uint64_t offset, std::span<std::byte> out) {
                       read_part(read, context, offset, out);
                     }});
  });
  return GivenFiles(std::move(given));
}

constexpr tulle_adapter adapter_defaults{sizeof(tulle_adapter), 1, {nullptr, 0}};

/// Errors: invalid_argument.
std::string given_path(std::string_view text, std::string_view what) {
  if (text.empty() || text.find('\0') != std::string_view::npos) {
    fail(ErrorCode::invalid_argument, what, " is empty or holds a 0");
  }
  return std::string(text);
}

/// Errors: invalid_argument.
std::vector<AdapterPath> given_adapters(const tulle_adapter* adapters, std::size_t count) {
  constexpr std::size_t most = 1024;
  if (count > most || (adapters == nullptr && count != 0)) {
    fail(ErrorCode::invalid_argument, "a model takes up to ", most, " adapters, not ", count, ", and not at NULL");
  }
  std::vector<AdapterPath> paths;
  read_structs(adapters, count, adapter_defaults, "tulle_adapter", [&](const tulle_adapter& adapter) {
    paths.push_back(
        {given_path(read_text(adapter.path, "the path of an adapter"), "the path of an adapter"), adapter.scale});
  });
  return paths;
}

std::vector<std::byte> read_all(tulle_read read, void* context, std::uint64_t size, const Loading& loading) {
  constexpr std::size_t piece = std::size_t{1} << 20;
  if (read == nullptr) fail(ErrorCode::invalid_argument, "the read function is NULL");
  std::vector<std::byte> bytes;
  if (size > bytes.max_size()) fail(ErrorCode::memory, "a file of ", size, " bytes does not fit into memory");
  bytes.resize(static_cast<std::size_t>(size));
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const std::size_t count = std::min(piece, bytes.size() - at);
    read_part(read, context, at, std::span(bytes).subspan(at, count));
    loading.progress("reading", static_cast<double>(at + count) / static_cast<double>(bytes.size()));
  }
  return bytes;
}

/// The frame of the three load functions: `load` makes the handle.
template <class Load>
std::int32_t load_into(tulle_model** model, const tulle_load_options* options, tulle_error* error,
                       Load&& load) noexcept {
  if (model != nullptr) *model = nullptr;
  return guarded(error, [&] {
    check_output(model, "model");
    Loading loading(options);
    *model = load(loading);
    return TULLE_OK;
  });
}

}  // namespace

}  // namespace tulle::capi

using namespace tulle;
using namespace tulle::capi;

extern "C" {

int32_t tulle_load_options_init(tulle_load_options* options, uint32_t struct_size) {
  return guarded(nullptr, [&] { return init_struct(options, struct_size, load_defaults, "tulle_load_options"); });
}

int32_t tulle_model_load(const char* path, size_t path_size, const tulle_load_options* options, tulle_model** model,
                         tulle_error* error) {
  return tulle_model_load_adapted(path, path_size, nullptr, 0, options, model, error);
}

int32_t tulle_model_load_adapted(const char* path, size_t path_size, const tulle_adapter* adapters, size_t count,
                                 const tulle_load_options* options, tulle_model** model, tulle_error* error) {
  return load_into(model, options, error, [&](Loading& loading) {
    const Progress progress = [&](std::string_view what, double fraction) { loading.progress(what, fraction); };
    const std::string text =
        local_model(given_path(read_text(path, path_size, "the path"), "the path of the model"), progress);
    std::vector<AdapterPath> paths = given_adapters(adapters, count);
    for (AdapterPath& adapter : paths) adapter.path = local_model(adapter.path, progress);
    return loading.load_path(text, std::move(paths));
  });
}

int32_t tulle_model_load_memory(const void* data, size_t size, const tulle_load_options* options, tulle_model** model,
                                tulle_error* error) {
  return load_into(model, options, error, [&](Loading& loading) {
    const auto bytes = read_array(static_cast<const std::byte*>(data), size, "the data");
    return loading.load_gguf(*Checkpoint::over_gguf_bytes(bytes, "memory"));
  });
}

int32_t tulle_model_load_reader(tulle_read read, void* context, uint64_t size, const tulle_load_options* options,
                                tulle_model** model, tulle_error* error) {
  return load_into(model, options, error, [&](Loading& loading) {
    return loading.load_gguf(*Checkpoint::from_gguf_bytes(read_all(read, context, size, loading), "the caller's file"));
  });
}

int32_t tulle_model_load_files(const tulle_file* files, size_t count, const tulle_load_options* options,
                               tulle_model** model, tulle_error* error) {
  return load_into(model, options, error, [&](Loading& loading) {
    const GivenFiles given = given_files(files, count);
    const auto checkpoint = Checkpoint::open(given);
    if (checkpoint->gguf() != nullptr) return loading.load_gguf(*checkpoint);
    return loading.load(*checkpoint, load_tokenizer_if_any<SentencePiece>(given), load_chat_template(given));
  });
}

int32_t tulle_model_free(tulle_model* model) {
  if (model == nullptr) return TULLE_OK;
  return guarded(nullptr, [&] {
    return models().remove(reinterpret_cast<std::uintptr_t>(model)) == nullptr ? TULLE_INVALID_HANDLE : TULLE_OK;
  });
}

int32_t tulle_model_describe(const tulle_model* model, tulle_model_info* info, tulle_error* error) {
  return guarded(error, [&] {
    const auto loaded = model_of(model);
    const Architecture& architecture = loaded->model->architecture();
    const std::optional<Token> bos = loaded->tokenizer->bos_token() ? loaded->tokenizer->bos_token() : architecture.bos;
    tulle_model_info facts{};
    facts.flags = (loaded->tokenizer->vocabulary_size() > 0 ? TULLE_HAS_TOKENIZER : 0) |
                  (loaded->chat_template.empty() ? 0 : TULLE_HAS_CHAT_TEMPLATE);
    facts.weight_bytes = loaded->model->weights().size_bytes();
    facts.vocabulary = static_cast<std::uint32_t>(architecture.vocabulary);
    facts.tokens = static_cast<std::uint32_t>(loaded->tokenizer->vocabulary_size());
    facts.context_length = static_cast<std::uint32_t>(architecture.context_length);
    facts.layers = static_cast<std::uint32_t>(architecture.layers.size());
    facts.hidden = static_cast<std::uint32_t>(architecture.hidden);
    facts.bos = bos.value_or(-1);
    facts.eos = architecture.eos.empty() ? loaded->tokenizer->eos_token().value_or(-1) : architecture.eos.front();
    write_struct(info, facts, "tulle_model_info");
    return TULLE_OK;
  });
}

}  // extern "C"
