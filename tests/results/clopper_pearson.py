"""Clopper and Pearson's interval as SciPy has it: what one trial of each sample gets."""

from scipy import stats


def clopper_pearson(mean, n):
    found = stats.binomtest(round(mean * n), n).proportion_ci(method="exact")
    return float(found.low), float(found.high)
