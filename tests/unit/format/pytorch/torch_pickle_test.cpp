// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/pytorch/torch_pickle.hpp>

#include <catch2/catch_all.hpp>
#include <string>

#include "unit/format/file_builder.hpp"

using namespace tulle;
using namespace tulle::test;
using namespace std::string_literals;

namespace {

std::vector<detail::PickledTensor> read(const std::string& pickle) {
  const Bytes bytes = to_bytes(pickle);
  auto tensors = detail::TorchPickle(bytes, "x.bin").run();
  for (auto& tensor : tensors) tensor.storage = {};  // a view into the bytes
  return tensors;
}
std::string message(const std::string& pickle) {
  return message_of([&] { read(pickle); });
}

std::string text(const std::string& value) {
  return "X"s + static_cast<char>(value.size()) + "\0\0\0"s + value;
}
const std::string storage = "(" + text("storage") + "ctorch\nHalfStorage\n" + text("0") + text("cpu") + "K\6tQ";
const std::string dict = "ccollections\nOrderedDict\n)R";
const std::string tensor =
    "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + "K\0K\2K\3\x86K\3K\1\x86\x89"s + dict + "tR";

}  // namespace

TEST_CASE("the tensors of a state dict are read from its pickle", "[format][pytorch]") {
  const auto tensors = read("\x80\2}q\0("s + text("a") + tensor + text("b") + "ctorch._utils\n_rebuild_parameter\n" +
                            tensor + "\x88" + dict + "\x87R" + text("epoch") + "K\1" + text("none") + "Nu.");
  REQUIRE(tensors.size() == 2);
  CHECK(tensors[0].name == "a");
  CHECK(tensors[1].name == "b");
  for (const auto& found : tensors) {
    CHECK(found.dtype == DType::f16);
    CHECK(found.storage_elements == 6);
    CHECK(found.offset == 0);
    CHECK(found.sizes == std::vector<std::uint64_t>{2, 3});
    CHECK(found.strides == std::vector<std::uint64_t>{3, 1});
  }
  // One entry, and attributes as torch.nn.Module.state_dict() has them.
  CHECK(read("\x80\2" + dict + text("a") + tensor + "s}" + text("_metadata") + dict + text("") + "}" + text("version") +
             "K\1sssb.")
            .size() == 1);
  CHECK(read("\x80\2}.").empty());
}

TEST_CASE("a name that is remembered names one tensor", "[format][pytorch]") {
  const std::string twice = "}(" + text("a") + "q\0"s + tensor + "q\1h\0h\1u."s;
  CHECK(message(twice).find("names a tensor twice") != std::string::npos);
}

TEST_CASE("numbers of every length are read", "[format][pytorch]") {
  const auto offset = [](const std::string& number) {
    const std::string shapes = ")"s + ")";
    return read("}" + text("a") + "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + number + shapes + "\x89" + dict +
                "tRs.")
        .at(0)
        .offset;
  };
  CHECK(offset("K\xFF"s) == 255);
  CHECK(offset("M\xFF\xFF"s) == 65535);
  CHECK(offset("J\0\0\0\1"s) == 1 << 24);
  CHECK(offset("\x8A\0"s) == 0);
  CHECK(offset("\x8A\5\0\0\0\0\1"s) == std::uint64_t{1} << 32);
  for (const std::string& number :
       {"J\xFF\xFF\xFF\xFF"s, "\x8A\1\x80"s, "\x8A\x09\0\0\0\0\0\0\0\0\1"s, "N"s, "G12345678"s}) {
    CHECK(error_of([&] { offset(number); }) == ErrorCode::malformed);
  }
}

TEST_CASE("a pickle that would run something is refused by name", "[format][pytorch]") {
  CHECK(message("\x80\2cposix\nsystem\n" + text("true") + "\x85R.").find("\"posix.system\"") != std::string::npos);
  CHECK(message("ctorch._utils\n_rebuild_tensor_v2 \n.").find("_rebuild_tensor_v2 \"") != std::string::npos);
  CHECK(message("c__builtin__\neval\n.").find("nothing of it was run") != std::string::npos);
  for (const char opcode : "iol\x81\x82\x92\x93\x94\x95PVSTUBC]aed0122") {  // INST, OBJ, ..., NEWOBJ, EXT1, ...
    if (opcode == '\0') continue;
    CAPTURE(opcode);
    CHECK(error_of([&] { read("}"s + opcode + "\0\0\0\0\0\0\0\0\0."s); }) == ErrorCode::unsupported);
  }
}

TEST_CASE("a pickle that breaks the rules of its machine is refused", "[format][pytorch]") {
  const std::string call = "ctorch._utils\n_rebuild_tensor_v2\n";
  const std::vector<std::string> broken{
      ""s,
      "."s,
      "}"s,
      "\x80\3}."s,
      "N."s,
      "}}."s,
      "(."s,
      "t."s,
      "\x85."s,
      "(\x85."s,
      "}s."s,
      "N"s + text("a") + "Ns.",
      "}h\0."s,
      "}q\1."s,
      "q\0."s,
      "(q\0."s,
      "u."s,
      "(u."s,
      "}(Nu."s,
      "Nb."s,
      "b."s,
      "}Nb"s,
      "R."s,
      "N)R."s,
      "NQ."s,
      ")Q."s,
      call + ")R.",
      call + "NR.",
      dict,
      "ccollections\nOrderedDict\nN\x85R.",
      "X\xFF\0\0\0abc"s,
      "ctorch"s,
      "ctorch\nFloat"s,
      "ctorch._utils\n_rebuild_parameter\n)R.",
      "ctorch\nHalfStorage\n)R.",
      "}N" + tensor + "s.",                                                         // a name that is no text
      "}" + text("a") + call + "(" + storage + "K\0K\2K\2\x89"s + dict + "tRs.",    // sizes that are no tuple
      "}" + text("a") + call + "(" + storage + "K\0)K\2\x85\x89"s + dict + "tRs.",  // fewer sizes than strides
      "}" + text("a") + call + "(" + storage + "K\0(KKKKKKKKKKKKKKKKKKt))"s + dict + "tRs."};
  for (const std::string& pickle : broken) {
    CAPTURE(pickle);
    CHECK(error_of([&] { read(pickle); }) == ErrorCode::malformed);
  }
}

TEST_CASE("nesting without end needs neither stack nor much memory", "[format][pytorch]") {
  CHECK(message("}N" + std::string(1000000, '\x85') + "b.") == "no error");
  CHECK(message(std::string(1000000, '(') + ".").find("takes a value where there is none") != std::string::npos);
}

TEST_CASE("a damaged pickle is refused or read inside of its bounds", "[format][pytorch]") {
  const Bytes file = to_bytes("\x80\2}q\0("s + text("a") + tensor + "q\1" + text("b") + "h\1u.");
  CHECK(survive_mutations(file, 20000, [](const Bytes& bytes) { detail::TorchPickle(bytes, "x.bin").run(); }) > 1000);
}
