// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/checkpoint_opener.hpp>

#include <catch2/catch_all.hpp>
#include <string>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("an opener finds its first file and fills the parts", "[format][checkpoint_opener]") {
  const CheckpointOpener opener{"toy",
                                [](const ModelFiles& files) { return std::string(files.has("toy") ? "toy" : ""); },
                                [](const ModelFiles& files, const std::string& name, CheckpointParts& parts) {
                                  parts.config["from"] = files.path(name);
                                }};
  const test::TemporaryFolder folder;
  const DirectoryFiles files(folder.path());
  CHECK(opener.find(files).empty());
  folder.write("toy", "");
  CheckpointParts parts;
  opener.open(files, opener.find(files), parts);
  CHECK(parts.config["from"] == folder.path("toy"));
  CHECK(parts.generation_config == Json::object());
  CHECK(parts.tensors.names().empty());
}
