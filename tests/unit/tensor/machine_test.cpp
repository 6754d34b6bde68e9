// SPDX-License-Identifier: Apache-2.0
#include <tulle/tensor/machine.hpp>

#include <fstream>
#include <iterator>
#include <string>

#include <catch2/catch_all.hpp>

using namespace tulle;

TEST_CASE("vendor, family and model of a CPU give its row", "[tensor][machine]") {
  const auto name = [](std::string_view vendor, unsigned family, unsigned model, bool has_avx_vnni = false) {
    return detail::machine_of({vendor, family, model}, has_avx_vnni).name;
  };
  CHECK(name("AuthenticAMD", 0x19, 0x01) == "Zen 3");  // Milan
  CHECK(name("AuthenticAMD", 0x19, 0x21) == "Zen 3");  // Vermeer
  CHECK(name("AuthenticAMD", 0x19, 0x50) == "Zen 3");  // Cezanne
  CHECK(name("AuthenticAMD", 0x19, 0x11) == "Zen 4");  // Genoa
  CHECK(name("AuthenticAMD", 0x19, 0x61) == "Zen 4");  // Raphael
  CHECK(name("AuthenticAMD", 0x19, 0xA0) == "Zen 4");  // Bergamo
  CHECK(name("AuthenticAMD", 0x1A, 0x02, true) == "Zen 5");
  CHECK(name("AuthenticAMD", 0x17, 0x31) == "unknown");  // Zen 2
  CHECK(name("GenuineIntel", 6, 0x6A) == "Intel");       // Ice Lake
  CHECK(name("GenuineIntel", 6, 0x8F, true) == "Intel AVX-VNNI");
  CHECK(name("CentaurHauls", 6, 0x0F) == "unknown");
  CHECK(name("", 0, 0) == "unknown");
}

TEST_CASE("the rows differ where their CPUs were measured to differ", "[tensor][machine]") {
  CHECK(machines::zen4.streams == Streams::one);
  CHECK(machines::zen5.streams == Streams::two);
  for (const Machine& machine : {machines::zen3, machines::intel, machines::intel_avx_vnni, machines::unknown}) {
    CHECK(machine.streams == Streams::four);
  }
  CHECK(machines::intel.prefetching == Prefetching::every_stream);
  CHECK(machines::zen4.prefetching == Prefetching::varying_strides);
  CHECK(machines::intel_avx_vnni.ell_dense_avxvnni < machines::intel.ell_dense_avxvnni);
}

TEST_CASE("the row of this machine is that of the CPU that Linux names", "[tensor][machine][of_host]") {
  std::ifstream file("/proc/cpuinfo");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
#if defined(TULLE_X86)
  if (text.find("vendor_id") == std::string::npos) SKIP("/proc/cpuinfo does not name the CPU");
  CHECK(this_machine.name.starts_with("Intel") == (text.find("GenuineIntel") != std::string::npos));
  CHECK(this_machine.name.starts_with("Zen 5") == (text.find("cpu family\t: 26\n") != std::string::npos));
#else
  STATIC_CHECK(this_machine.name == "unknown");
#endif
}
