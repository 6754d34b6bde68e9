// SPDX-License-Identifier: Apache-2.0
/// \file The survey of forms as one page.
#pragma once

#include <string>
#include <tulle/core/json.hpp>

/// Adds to each text of each cell its "ratio" to that of the model, with its "standard_error", paired by sequence.
/// `survey`: {"model", "dataset": text; "cells": [{"name", "kind": "model", "form", "plan" or "reference",
/// and what `measure_model` gives}]}.
void add_ratios(tulle::OrderedJson& survey);

std::string survey_html(const tulle::OrderedJson& survey);
