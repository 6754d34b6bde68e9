// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/packed_cache.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/core/content_hash.hpp>
#include <tulle/generate/engine.hpp>

#include "unit/format/file_builder.hpp"
#include "unit/format/file_size_limit.hpp"
#include "unit/generate/tiny_pipeline.hpp"

using namespace tulle;
using testing::same_bits;
using testing::small_engine;

namespace {

using ModelPtr = std::shared_ptr<const Model<AnyKernel>>;

const std::vector<Token> text{1, 17, 201, 5, 99, 42, 250, 3, 77};

std::vector<float> logits_of(ModelPtr model) {
  const auto engine = make_engine(std::move(model), small_engine());
  return testing::prompt_logits(*engine, text);
}

PackOptions packed_for(std::string_view kernel) {
  PackOptions pack;
  pack.kernel = kernel_choice(kernel);
  return pack;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// A model of its own and the user's cache, in a folder that ends with the object.
struct Place {
  Place() {
    std::filesystem::copy_file(TULLE_GOLDEN "/models/gguf/q8_0.gguf", model);
    use_cache(cache);
  }
  ~Place() { ::unsetenv("XDG_CACHE_HOME"); }

  static void use_cache(const std::string& folder) { ::setenv("XDG_CACHE_HOME", folder.c_str(), 1); }

  ModelPtr load(const std::string& where, std::string_view kernel = "auto", bool verify = false) const {
    return load_packed<AnyKernel>(*Checkpoint::open(model), packed_for(kernel), {where, verify}, {}, 1);
  }
  std::vector<std::string> kept() const {
    std::vector<std::string> files;
    if (!std::filesystem::exists(cache + "/tulle/packed")) return files;
    for (const auto& entry : std::filesystem::directory_iterator(cache + "/tulle/packed")) {
      files.push_back(entry.path().string());
    }
    return files;
  }
  /// Whether the only file that was kept serves the model.
  bool keeps_model() const {
    const auto files = kept();
    if (files.size() != 1) return false;
    try {
      return !read_packed_file(files[0], packed_key(model, packed_for("auto")), true)->matrices.empty();
    } catch (const Error&) {
      return false;
    }
  }

  test::TemporaryFolder folder;
  std::string model = folder.path("model.gguf"), cache = folder.path("cache");
};

/// Changes the index of a packed file and makes its header fit.
std::string with_index(const std::string& file, const std::string& index) {
  PackedFileHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  header.index_bytes = index.size();
  header.index_hash = content_hash(index);
  header.file_bytes = header.index_begin + index.size();
  std::string changed = file.substr(0, header.index_begin) + index;
  std::memcpy(changed.data(), &header, sizeof header);
  return changed;
}

}  // namespace

TEST_CASE("a model over a packed file has the bits of one that was packed", "[generate][packed_cache]") {
  const Place place;
  const std::string file = place.folder.path("model.packed");
  for (const std::string_view kernel : {"auto", "dense_i4", "dense_f16", "bitmask_i8", "ell_i8"}) {
    CAPTURE(kernel);
    const auto packed = place.load("off", kernel);
    const auto kept = kept_weights(packed->weights());
    CHECK(kept.matrices.size() == 2 + 4 * packed->architecture().layers.size());
    write_packed_file(file, packed_key(place.model, packed_for(kernel)), kept);
    const auto over = place.load(file, kernel, true);
    CHECK(same_bits(logits_of(over), logits_of(packed)));
    CHECK(over->weights().size_bytes() == packed->weights().size_bytes());
  }
  // Of other weights than the kernel's: not used, and said so.
  CHECK(test::error_of([&] { place.load(file, "auto"); }) == ErrorCode::malformed);
  CHECK(test::error_of([&] { place.load(place.folder.path("none"), "auto"); }) == ErrorCode::not_found);
  // Another kind of file is not replaced.
  CHECK(test::error_of([&] { write_packed_file(place.model, "", {}); }) == ErrorCode::invalid_argument);
  CHECK(place.kept().empty());
}

TEST_CASE("embedding and positions are kept as they are held, and read from the model where they do not fit",
          "[generate][packed_cache]") {
  const test::TemporaryFolder folder;
  const std::string model = TULLE_GOLDEN "/models/gpt-neo-tiny", file = folder.path("model.packed");
  const auto logits_of = [](ModelPtr loaded) {
    EngineOptions options = small_engine();
    options.sequence_length = 32;
    const std::vector<Token> tokens{1, 17, 5, 42};
    return testing::prompt_logits(*make_engine(std::move(loaded), options), tokens);
  };
  for (const std::string_view kernel : {"dense_i8", "dense_f16"}) {
    CAPTURE(kernel);
    const PackOptions pack = packed_for(kernel);
    const auto checkpoint = Checkpoint::open(model);
    const auto over = [&](const KeptMatrices& kept) {
      write_packed_file(file, packed_key(model, pack), kept);
      return load_packed<AnyKernel>(*checkpoint, pack, {file, true}, {}, 1);
    };
    const auto packed = Model<AnyKernel>::load(*checkpoint, pack, {}, 1);
    const auto right = logits_of(packed);
    const KeptMatrices kept = kept_weights(packed->weights());
    const auto same = over(kept);
    CHECK(same_bits(logits_of(same), right));
    CHECK(same->weights().size_bytes() == packed->weights().size_bytes());
    for (const std::string_view name : {kept_embedding, kept_positions}) {
      CAPTURE(name);
      const auto array = kept.find(name)->arrays[0];
      const Architecture& architecture = packed->architecture();
      CHECK(array.size() == (name == kept_embedding ? architecture.vocabulary : architecture.learned_positions) *
                                architecture.hidden * (kernel == "dense_i8" ? sizeof(Half) : sizeof(float)));
      const auto logits_with = [&](std::vector<std::span<const std::byte>> arrays) {
        KeptMatrices changed = kept;
        changed.matrices[std::string(name)].arrays = std::move(arrays);
        return logits_of(over(changed));
      };
      const std::vector<std::byte> zeros(array.size());
      CHECK_FALSE(same_bits(logits_with({zeros}), right));  // so it is used
      const auto other = std::span<const std::byte>(zeros);
      CHECK(same_bits(logits_with({other.first(zeros.size() - 1)}), right));
      CHECK(same_bits(logits_with({other.first(zeros.size() / 4)}), right));
      CHECK(same_bits(logits_with({other, other}), right));
      CHECK(same_bits(logits_with({}), right));
      KeptMatrices without = kept;
      without.matrices.erase(std::string(name));
      CHECK(same_bits(logits_of(over(without)), right));
    }
  }
}

TEST_CASE("the weights of a file are used as they lie there", "[generate][packed_cache]") {
  const Place place;
  const auto right = logits_of(place.load("on"));
  REQUIRE(place.keeps_model());
  const std::string file = place.kept()[0];
  std::string bytes = read_file(file);
  for (std::size_t at = bytes.size() / 4; at < bytes.size() / 2; ++at) bytes[at] = static_cast<char>(bytes[at] ^ 1);
  write(file, bytes);
  CHECK_FALSE(same_bits(logits_of(place.load("on")), right));
  CHECK(same_bits(logits_of(place.load("on", "auto", true)), right));  // --verify-packed
  CHECK(place.keeps_model());
}

TEST_CASE("what was kept of anything else is packed again", "[generate][packed_cache]") {
  const Place place;
  const auto right = logits_of(place.load("on"));
  REQUIRE(place.keeps_model());
  const std::string file = place.kept()[0], bytes = read_file(file);
  const auto still_right = [&] { return same_bits(logits_of(place.load("on")), right) && place.keeps_model(); };
  for (const std::size_t length :
       {bytes.size() - 1, bytes.size() / 2, std::size_t{64}, std::size_t{10}, std::size_t{0}}) {
    CAPTURE(length);
    write(file, bytes.substr(0, length));
    CHECK(still_right());
  }
  for (std::size_t at = 0; at < sizeof(PackedFileHeader) - 16; ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    write(file, changed);
    CHECK_THROWS_AS(read_packed_file(file, packed_key(place.model, packed_for("auto"))), Error);
  }
  CHECK(still_right());
  std::string older = bytes;
  older[offsetof(PackedFileHeader, version)] -= 1;
  write(file, older);
  CHECK(still_right());
  std::filesystem::permissions(file, std::filesystem::perms::others_write, std::filesystem::perm_options::add);
  CHECK(still_right());
  CHECK((std::filesystem::status(file).permissions() & std::filesystem::perms::others_write) ==
        std::filesystem::perms::none);

  SECTION("the same model, written later") {
    std::filesystem::last_write_time(place.model, std::filesystem::file_time_type::clock::now());
    CHECK_FALSE(place.keeps_model());
    CHECK(still_right());
  }
  SECTION("another model of the same size and time") {
    const auto time = std::filesystem::last_write_time(place.model);
    std::string model = read_file(place.model);
    for (std::size_t at = model.size() - 400; at < model.size(); ++at) model[at] = static_cast<char>(model[at] ^ 1);
    write(place.model, model);
    std::filesystem::last_write_time(place.model, time);
    CHECK_FALSE(place.keeps_model());
    CHECK(same_bits(logits_of(place.load("on")), logits_of(place.load("off"))));
  }
  SECTION("another instruction set") {
    if (isa::All::size == 1) SKIP("this build has one instruction set");
    const std::size_t sets = instruction_set_name(active_instruction_set()) == "scalar" ? 1 : 2;
    const testing::TinyModelsOn scalar(detail::find_instruction_set("scalar"));
    CHECK(same_bits(logits_of(place.load("on")), logits_of(place.load("off"))));
    CHECK(place.kept().size() == sets);
  }
}

TEST_CASE("files beside a model are no part of its state", "[generate][packed_cache]") {
  const test::TemporaryFolder folder;
  const std::string model = folder.path("model");
  std::filesystem::copy(TULLE_GOLDEN "/models/gpt2-tiny", model);
  const std::uint64_t state = model_state(model);
  for (const char* name : {"m.packed", "p.cache", "notes.txt"}) write(model + "/" + name, "tulle");
  CHECK(model_state(model) == state);
  write(model + "/config.json", read_file(model + "/config.json") + "\n");
  CHECK(model_state(model) != state);
}

TEST_CASE("no index of a packed file makes a crash", "[generate][packed_cache]") {
  const Place place;
  (void)place.load("on");
  const std::string file = place.kept()[0], bytes = read_file(file), key = packed_key(place.model, packed_for("auto"));
  PackedFileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::string index = bytes.substr(header.index_begin);
  std::mt19937 random(3);
  std::size_t used = 0;
  for (int round = 0; round < 300; ++round) {
    std::string changed = index;
    for (std::size_t change = 0; change <= random() % 3; ++change) {
      char& byte = changed[random() % changed.size()];
      byte =
          byte >= '0' && byte <= '9' ? static_cast<char>('0' + random() % 10) : static_cast<char>(random() % 96 + 32);
    }
    write(file, with_index(bytes, changed));
    try {
      const auto kept = read_packed_file(file, key);
      (void)logits_of(Model<AnyKernel>::load(*Checkpoint::open(place.model), packed_for("auto"), {}, 1, kept));
      ++used;
    } catch (const Error&) {
    }
  }
  CHECK(used > 0);
}

TEST_CASE("where weights cannot be kept the model is loaded as ever", "[generate][packed_cache]") {
  const Place place;
  const auto right = logits_of(place.load("off"));
  CHECK(same_bits(logits_of(place.load("auto")), right));  // a small one
  CHECK(place.kept().empty());

  // A disk without room.
  std::vector<float> over;
  {
    const test::FileSizeLimit limit(4096);
    over = logits_of(place.load("on"));
  }
  CHECK(same_bits(over, right));
  CHECK(place.kept().empty());

  // A folder that cannot be made, nor read.
  write(place.folder.path("file"), "x");
  Place::use_cache(place.folder.path("file"));
  CHECK(same_bits(logits_of(place.load("on")), right));
  Place::use_cache(place.cache);

  // Writers and readers beside each other.
  std::vector<std::thread> threads;
  std::array<bool, 4> same{};
  for (bool& each : same) {
    threads.emplace_back([&place, &right, &each] {
      each = true;
      for (int round = 0; round < 5; ++round) each = each && same_bits(logits_of(place.load("on")), right);
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(same == std::array<bool, 4>{true, true, true, true});
  CHECK(place.keeps_model());
}

TEST_CASE("the folder of packed weights has a limit", "[generate][packed_cache]") {
  const Place place;
  const std::string folder = place.cache + "/tulle/packed";
  std::filesystem::create_directories(folder);
  const auto add = [&](const std::string& name, std::uint64_t bytes, int hours) {
    write(folder + name, "x");
    std::filesystem::resize_file(folder + name, bytes);  // sparse
    std::filesystem::last_write_time(folder + name,
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  add("/oldest.packed", PackedCache::max_bytes / 2, 3);
  add("/older.packed", PackedCache::max_bytes / 2, 2);
  add("/new.packed", 1000, 1);
  add("/left.1-2.part", 1000, 2);
  add("/written.1-3.part", 1000, 0);
  add("/other", 1000, 9);
  (void)place.load("on");
  std::vector<std::string> names;
  for (const auto& file : place.kept()) names.push_back(std::filesystem::path(file).filename().string().substr(0, 5));
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"model", "new.p", "older", "other", "writt"});
}
