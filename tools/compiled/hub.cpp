// SPDX-License-Identifier: Apache-2.0
#include "hub.hpp"

#ifdef TULLE_WITH_HUB

#include <tulle/hub/resolve_model.hpp>

std::string local_model(const std::string& model, const tulle::Progress& progress, tulle::HubPart part) {
  return tulle::resolve_model(model, progress, part);
}

#else

#include <tulle/core/error.hpp>
#include <tulle/hub/find_model.hpp>
#include <tulle/hub/hub_model.hpp>
#include <tulle/hub/hub_settings.hpp>

std::string local_model(const std::string& model, const tulle::Progress&, tulle::HubPart part) {
  if (!tulle::parse_hub_model(model)) return model;
  return tulle::detail::find_model(
      model, part, tulle::HubSettings::from_environment(), [](const tulle::HubModel& named) -> std::string {
        tulle::fail(tulle::ErrorCode::unsupported, named.text(),
                    " is not in the cache, and this build of Tulle cannot download it: it was made without OpenSSL and "
                    "cpp-httplib (CMake option TULLE_WITH_HUB). `hf download ",
                    named.repository, "` puts it there");
      });
}

#endif
