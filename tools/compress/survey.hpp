// SPDX-License-Identifier: Apache-2.0
/// \file `tulle compress --survey`: every uniform form and plans of a model, measured.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <tulle/compress/module_list.hpp>
#include <tulle/compress/plan/matrix_form.hpp>
#include <tulle/compress/stage_planner.hpp>
#include <tulle/core/json.hpp>
#include <vector>

#include "survey_measure.hpp"

using MakePlan = std::function<tulle::StagePlan(const tulle::ModuleList&)>;

struct SurveyJob {
  std::string model, dataset;           ///< path; name
  std::string directory;                ///< of the results
  std::vector<std::string> references;  ///< other files of the model, which are measured as they are
  std::vector<std::string> cells;       ///< names of those to measure; empty: all but `plan-as-FORM`
  std::vector<SurveyText> texts;
  tulle::Json settings;  ///< what must be the same in all cells
  std::size_t threads = 0;
  tulle::ModuleList modules;
  std::function<tulle::Json(const std::string& directory, const MakePlan&)> compress;  ///< gives the report
};

/// Measures what has no result in directory/cells yet, then writes survey.json and survey.html from all that is there.
/// Errors: not_found for unknown cells; invalid_argument for results of other settings; those of the work.
tulle::OrderedJson run_survey(const SurveyJob& job);
