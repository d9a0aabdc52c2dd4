"""Where and about what a post is: cities by the hour, topics by city and hour, bursts."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from sightline.generate.cities import Cities
from sightline.generate.topics import TOPICS

Locations = Literal["cities", "uniform", "gaussian"]

HOUR_US = 3_600_000_000
BURST_US = HOUR_US // 2  # a burst lasts half an hour
BURSTS = 3  # at the same time
BACKGROUND = 0.03  # share of posts from anywhere
FAVOURITE = 0.25  # share of posts about the topic of their city

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class PostPlaces(NamedTuple):
    """City, topic and whether the post belongs to a burst, row by row."""

    city: Ints
    topic: Ints
    burst: npt.NDArray[np.bool_]


def mixed(*numbers: npt.NDArray[np.uint64] | int) -> npt.NDArray[np.uint64]:
    """A 64-bit hash of some numbers (the SplitMix64 finaliser after each): chance that depends on nothing else."""
    state = np.zeros(1, dtype=np.uint64)
    for number in numbers:
        state = (state ^ np.asarray(number, dtype=np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state = state ^ (state >> np.uint64(31))
    return state


def _rows_of_cdf(weights: Floats) -> Floats:
    """Row number + cumulative share, flattened: one ``searchsorted`` draws from the row of each key."""
    shares = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
    flat: Floats = (np.arange(len(weights))[:, None] + shares).ravel()
    return flat


def draw(cdf: Floats, width: int, row: Ints, chance: Floats) -> Ints:
    """Draw from the distribution in row ``row`` of :func:`_rows_of_cdf`, one per chance in [0, 1)."""
    found: Ints = np.searchsorted(cdf, row + chance, side="right") - row * width
    return np.minimum(found, width - 1)


class PlaceModel:
    """Draws cities and topics for given times."""

    def __init__(self, cities: Cities, seed: int, burst_rate: float) -> None:
        self.cities, self.seed, self.burst_rate = cities, seed, burst_rate
        hours = np.arange(24)[:, None]
        local = hours + cities.lon[None, :] / 15
        # People post most at 19 h local time and a fifth as much at 7 h in the morning.
        awake = 0.2 + 0.8 * (0.5 + 0.5 * np.cos((local - 19) * (np.pi / 12)))
        self.city_cdf = _rows_of_cdf(awake * cities.weight[None, :])
        topic_weight = np.empty((24, len(TOPICS)))
        for number, topic in enumerate(TOPICS):
            away = np.abs((np.arange(24) - topic.peak_hour + 12) % 24 - 12)
            topic_weight[:, number] = topic.weight * (0.15 + np.exp(-0.5 * (away / topic.spread_hours) ** 2))
        self.topic_cdf = _rows_of_cdf(topic_weight)
        order = np.arange(len(cities.lon)).astype(np.uint64)
        self.favourite = (mixed(seed, order) % np.uint64(len(TOPICS))).astype(np.int64)

    def place(self, rng: np.random.Generator, ts: Ints) -> PostPlaces:
        """City and topic for each instant (microseconds since 1970)."""
        n, width = len(ts), len(self.cities.lon)
        hour = ts // HOUR_US % 24
        city = draw(self.city_cdf, width, hour, rng.random(n))
        # The bursts of a half-hour follow from its number, so that every block sees the same ones.
        slot = ts // BURST_US
        which = mixed(self.seed, slot.astype(np.uint64), rng.integers(0, BURSTS, n).astype(np.uint64))
        burst = rng.random(n) < self.burst_rate
        chance = (which >> np.uint64(11)).astype(np.float64) / 2.0**53
        burst_hour = slot * BURST_US // HOUR_US % 24
        city = np.where(burst, draw(self.city_cdf, width, burst_hour, chance), city)
        local = (hour + self.cities.lon[city] / 15).astype(np.int64) % 24
        topic = draw(self.topic_cdf, len(TOPICS), local, rng.random(n))
        topic = np.where(rng.random(n) < FAVOURITE, self.favourite[city], topic)
        topic = np.where(burst, (which % np.uint64(len(TOPICS))).astype(np.int64), topic)
        return PostPlaces(city, topic, burst)

    def locate(
        self, rng: np.random.Generator, placed: PostPlaces, locations: Locations, sigma: float
    ) -> tuple[Floats, Floats]:
        """Longitude and latitude; ``uniform`` and ``gaussian`` are Uni and Gau of SSTD 7.2."""
        n = len(placed.city)
        # Every choice draws the same numbers, so that what comes after (the text) is the same for all of them.
        anywhere_lon, anywhere_lat = rng.random(n) * 360 - 180, rng.random(n) * 180 - 90
        east, north = rng.standard_normal(n), rng.standard_normal(n)
        background = (rng.random(n) < BACKGROUND) & ~placed.burst
        if locations == "uniform":
            return _rounded(anywhere_lon, anywhere_lat)
        if locations == "gaussian":
            return _rounded(sigma * east, sigma * north)
        spread = self.cities.radius[placed.city] * np.where(placed.burst, 0.3, 1.0)
        lat = self.cities.lat[placed.city] + spread * north
        lon = self.cities.lon[placed.city] + spread * east / np.maximum(0.2, np.cos(np.radians(lat)))
        return _rounded(np.where(background, anywhere_lon, lon), np.where(background, anywhere_lat, lat))


def _rounded(lon: Floats, lat: Floats) -> tuple[Floats, Floats]:
    """Six decimals, inside the world: longitudes wrap, latitudes stop short of the poles."""
    inside: Floats = np.clip(lat, -89.9, 89.9)
    return np.round((lon + 180) % 360 - 180, 6), np.round(inside, 6)
