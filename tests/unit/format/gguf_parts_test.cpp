// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/gguf_parts.hpp>

#include <catch2/catch_all.hpp>
#include <filesystem>
#include <string>
#include <tulle/format/checkpoint.hpp>
#include <tulle/format/tokenizer_files.hpp>
#include <unit/format/file_builder.hpp>
#include <unit/format/lent_files.hpp>

using namespace tulle;
using namespace tulle::test;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string golden = TULLE_GOLDEN "/models/";

GgufBuilder part_of(GgufBuilder gguf, std::uint16_t index, std::uint16_t count, std::int32_t tensors) {
  gguf.value("split.no", 2, index).value("split.count", 2, count).value("split.tensors.count", 5, tensors);
  return gguf;
}

/// tiny_llama_gguf() and two parts that hold a tensor each, a-0000N-of-00003.gguf.
class ThreeParts {
 public:
  ThreeParts() {
    write(1, part_of(tiny_llama_gguf(), 0, 3, 6));
    write(2, part_of(GgufBuilder(), 1, 3, 6).tensor("blk.0.attn_k.weight", {4, 4}, 0, float_bytes(16)));
    write(3, part_of(GgufBuilder(), 2, 3, 6).tensor("blk.0.attn_v.weight", {4, 4}, 0, float_bytes(16)));
  }

  std::string path(std::size_t number) const { return folder_.path(detail::gguf_part_file("a", number, 3)); }
  const TemporaryFolder& folder() const { return folder_; }
  void write(std::size_t number, const GgufBuilder& part) const { folder_.write(path(number), part.build()); }
  void remove(std::size_t number) const { std::filesystem::remove(path(number)); }

  /// Why the model does not open: by path, and alike when its files are lent.
  std::string refusal(ErrorCode code, std::size_t number = 1) const {
    CHECK(error_of([&] { Checkpoint::open(path(number)); }) == code);
    CHECK(error_of([&] { Checkpoint::open(lent_files(folder_.path())); }).has_value());
    return message_of([&] { Checkpoint::open(path(number)); });
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("a model in parts has the tensors and the metadata of the whole", "[format][gguf_parts]") {
  const auto whole = Checkpoint::open(golden + "gguf/q8_0.gguf");
  const std::string folder = golden + "gguf-parts";
  std::size_t read = 0;
  const GivenFiles files = lent_files(folder, &read);
  for (const auto& parts :
       {Checkpoint::open(folder), Checkpoint::open(folder + "/q8_0-00001-of-00003.gguf"), Checkpoint::open(files)}) {
    CHECK(parts->names() == whole->names());
    CHECK(parts->config() == whole->config());
    CHECK(parts->size_bytes() == whole->size_bytes());
    for (const std::string& name : whole->names()) {
      read = 0;
      const auto bytes = parts->read(*parts->find(name));
      const auto expected = whole->read(*whole->find(name));
      CHECK(std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end()));
      CHECK((read == 0 || read == bytes.size()));
      parts->release(bytes);
    }
  }
  CHECK(read > 0);
  CHECK(load_tokenizer(folder)->vocabulary_size() == 288);
  CHECK(load_tokenizer(files)->vocabulary_size() == 288);
  CHECK(load_chat_template(folder) == load_chat_template(golden + "gguf/q8_0.gguf"));
}

TEST_CASE("a part may be without tensors, and a file may say that it is the only part", "[format][gguf_parts]") {
  const ThreeParts model;
  model.write(2, part_of(GgufBuilder(), 1, 3, 5));
  model.write(1, part_of(tiny_llama_gguf(), 0, 3, 5));
  model.write(3, part_of(GgufBuilder(), 2, 3, 5).tensor("blk.0.attn_v.weight", {4, 4}, 0, float_bytes(16)));
  CHECK(Checkpoint::open(model.path(1))->names().size() == 5);
  const TemporaryFolder folder;
  CHECK(Checkpoint::open(folder.write("any.gguf", part_of(tiny_llama_gguf(), 0, 1, 4).build()))->names().size() == 4);
}

TEST_CASE("a model that lacks a part names the missing file", "[format][gguf_parts]") {
  const ThreeParts model;
  CHECK(Checkpoint::open(model.folder().path())->names().size() == 6);
  model.remove(2);
  CHECK_THAT(model.refusal(ErrorCode::not_found),
             ContainsSubstring(model.path(2) + " is missing; a-00001-of-00003.gguf is part 1 of 3"));
  model.remove(1);
  CHECK_THAT(model.refusal(ErrorCode::not_found), ContainsSubstring("a-00001-of-00003.gguf"));
}

TEST_CASE("another part than the first is no model, and the message names the first", "[format][gguf_parts]") {
  const ThreeParts model;
  CHECK(error_of([&] { Checkpoint::open(model.path(2)); }) == ErrorCode::invalid_argument);
  CHECK_THAT(
      message_of([&] { Checkpoint::open(model.path(2)); }),
      ContainsSubstring(model.path(2) + " is part 2 of 3 of a model; give the first one, a-00001-of-00003.gguf"));
}

TEST_CASE("parts of other models, or in another order, are refused", "[format][gguf_parts]") {
  const ThreeParts model;
  const auto other = [](std::uint16_t index, std::uint16_t count, std::int32_t tensors) {
    return part_of(GgufBuilder(), index, count, tensors).tensor("blk.0.attn_k.weight", {4, 4}, 0, float_bytes(16));
  };
  for (const auto& [part, what] : {std::pair{other(2, 3, 6), "is part 3 of 3 of a model, not part 2 of the model"},
                                   {other(1, 4, 6), "is part 2 of 4 of a model, not part 2"},
                                   {other(1, 3, 7), "is part 2 of 3 of a model, not part 2"},
                                   {tiny_llama_gguf(), "is no part of a model, not part 2"}}) {
    model.write(2, part);
    CHECK_THAT(model.refusal(ErrorCode::malformed), ContainsSubstring(model.path(2) + " " + what));
  }
  model.write(2, other(1, 3, 6).tensor("more", {4}, 0, float_bytes(4)));
  CHECK_THAT(model.refusal(ErrorCode::malformed), ContainsSubstring("hold 7 tensors where 6 are announced"));
  model.write(2, part_of(GgufBuilder(), 1, 3, 6).tensor("output_norm.weight", {4}, 0, float_bytes(4)));
  CHECK_THAT(model.refusal(ErrorCode::malformed), ContainsSubstring("appears twice"));
  model.folder().write(model.path(2), "GGUF");
  CHECK_THAT(model.refusal(ErrorCode::malformed), ContainsSubstring(model.path(2)));
}

TEST_CASE("a first part under another name, or alone in memory, says what it needs", "[format][gguf_parts]") {
  const ThreeParts model;
  const Bytes first = part_of(tiny_llama_gguf(), 0, 3, 6).build();
  for (const char* name : {"b.gguf", "a-00001-of-00004.gguf", "a-00002-of-00003.gguf"}) {
    const std::string path = model.folder().write(name, first);
    CHECK(error_of([&] { Checkpoint::open(path); }) == ErrorCode::invalid_argument);
    CHECK_THAT(message_of([&] { Checkpoint::open(path); }), ContainsSubstring("rename it to NAME-00001-of-00003.gguf"));
  }
  CHECK(error_of([&] { Checkpoint::over_gguf_bytes(first, "memory"); }) == ErrorCode::invalid_argument);
  const TemporaryFolder folder;
  const Bytes odd = tiny_llama_gguf().value("split.count", 5, std::int32_t{-1}).build();
  CHECK(error_of([&] { Checkpoint::open(folder.write("odd.gguf", odd)); }) == ErrorCode::malformed);
  const Bytes text = tiny_llama_gguf().text("split.count", "3").build();
  CHECK(error_of([&] { Checkpoint::open(folder.write("text.gguf", text)); }) == ErrorCode::malformed);
}
