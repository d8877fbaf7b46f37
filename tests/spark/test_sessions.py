"""`weft.spark.session`: what it asks Spark for, whose settings win, what it says of a running session."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import SparkConf, SparkContext
from pyspark.errors import AnalysisException

import weft.spark
from weft.errors import InputError, SpecError
from weft.spark import sessions
from weft.spark.demands import PROVIDER
from weft.spark.java import Java
from weft.spark.sessions import SETTINGS, SessionWarning

PARTITIONS = "spark.sql.shuffle.partitions"
STATIC = "spark.sql.warehouse.dir"


def test_values_become_the_texts_that_spark_knows() -> None:
    conf = {PARTITIONS: 8, "spark.ui.enabled": False, "spark.a": 0.5, "spark.b": "x"}
    assert sessions.asked_for("local[2]", "join", conf) == {
        "spark.master": "local[2]",
        "spark.app.name": "join",
        PARTITIONS: "8",
        "spark.ui.enabled": "false",
        "spark.a": "0.5",
        "spark.b": "x",
    }


@pytest.mark.parametrize(
    ("master", "conf", "message"),
    [
        (None, {"shuffle_partitions": 8}, r'the name of a setting must be .*; got "shuffle_partitions"'),
        (None, {PARTITIONS: None}, f"`{PARTITIONS}` must be a string, a number, True or False; got None"),
        (4, {}, None),
        (None, {"spark.a": ["x"]}, r"`spark\.a` must be .*; got \['x'\]"),
        ("local", {"spark.master": "local"}, r'`master` and "spark\.master" are one setting; got both'),
        (None, {"spark.remote": "sc://host"}, r"no session of Spark Connect; spark\.remote asks for one"),
        (None, {"spark.api.mode": "Connect"}, r"spark\.api\.mode asks for one"),
    ],
)
def test_what_is_no_setting_is_refused(master: Any, conf: dict[str, Any], message: str | None) -> None:
    if message is None:
        assert sessions.asked_for(master, None, conf) == {"spark.master": "4"}
        return
    with pytest.raises(SpecError, match=message):
        sessions.asked_for(master, None, conf)


def test_a_missing_library_is_said_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.spark.demands.installed", lambda need: None)
    monkeypatch.setattr(sessions, "running", lambda: pytest.fail("it looked for a session"))
    with pytest.raises(InputError, match="pip install"):
        weft.spark.session()


@pytest.mark.parametrize(
    ("name", "value"),
    [("SPARK_REMOTE", "sc://x"), ("SPARK_API_MODE", "connect"), ("SPARK_CONNECT_MODE_ENABLED", "1")],
)
def test_a_session_of_connect_is_not_started(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    monkeypatch.setattr(sessions, "started", lambda asked: pytest.fail("it started one"))
    with pytest.raises(SpecError, match=f"{name} asks for one"):
        weft.spark.session()


@pytest.mark.parametrize(
    ("master", "cores"),
    [
        ("local", 1),
        ("local[4]", 4),
        ("local[ 4 , 2 ]", 4),
        ("local-cluster[2,3,1024]", 6),
        ("local-cluster[ 2 , 1 , 512 ]", 2),
        ("spark://host:7077", None),
        ("yarn", None),
        ("k8s://local[2]", None),
        ("", None),
    ],
)
def test_a_local_master_has_as_many_shuffle_partitions_as_cores(master: str, cores: int | None) -> None:
    assert sessions.partitions(master) == ({PARTITIONS: str(cores)} if cores else {})
    assert sessions.on_this_machine(master) == (cores is not None)


def test_local_with_a_star_asks_the_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "visible_cores", lambda: 3)
    assert sessions.local_cores("local[*]") == 3
    assert sessions.local_cores("local[*,2]") == 3


def conf_of(**settings: str) -> SparkConf:
    """Return a configuration that knows no JVM, also where one runs."""
    conf = SparkConf.__new__(SparkConf)
    conf._jconf, conf._conf = None, {name.replace("_", "."): value for name, value in settings.items()}
    return conf


def test_a_local_session_listens_on_this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    ours = sessions.defaults(conf_of(spark_master="local[2]"))
    assert ours == SETTINGS | {PARTITIONS: "2"} | dict.fromkeys(sessions.ADDRESSES, "127.0.0.1")


@pytest.mark.parametrize(
    "settings",
    [
        {"spark_master": "spark://host:7077"},
        {"spark_master": "local[2]", "spark_driver_host": "192.0.2.1"},
        {"spark_master": "local[2]", "spark_driver_bindAddress": "0.0.0.0"},
    ],
)
def test_addresses_of_a_cluster_and_those_the_user_set_stay(settings: dict[str, str]) -> None:
    assert not sessions.defaults(conf_of(**settings)).keys() & {*sessions.ADDRESSES}


def test_the_users_own_settings_win() -> None:
    known = {"spark_master": "local[2]", PROVIDER: "other", PARTITIONS: "5"}
    ours = sessions.defaults(conf_of(**known))
    assert not ours.keys() & {PROVIDER, PARTITIONS}


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """Be a process without a JVM, on a machine with a Java and without the user's own settings."""
    monkeypatch.setattr(SparkContext, "_gateway", None)
    monkeypatch.setattr(sessions, "find_java", lambda: Java(tmp_path / "jdk", "17", "PATH"))
    for name in ("PYSPARK_PYTHON", "PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "MASTER", "SPARK_LOCAL_IP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return monkeypatch


def test_the_jvm_starts_with_a_java_this_interpreter_and_addresses_of_this_machine(
    fresh: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert sessions.launch_variables({}) == {
        "PYSPARK_PYTHON": sys.executable,
        "JAVA_HOME": str(tmp_path / "jdk"),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


@pytest.mark.parametrize("name", ["PYSPARK_PYTHON", "SPARK_LOCAL_IP"])
def test_variables_that_the_user_set_stay(fresh: pytest.MonkeyPatch, name: str) -> None:
    fresh.setenv(name, "theirs")
    assert name not in sessions.launch_variables({})


def test_an_interpreter_named_in_the_settings_is_taken(fresh: pytest.MonkeyPatch) -> None:
    new = sessions.launch_variables({"spark.pyspark.python": "/python"})
    assert new["PYSPARK_PYTHON"] == "/python"


def test_a_java_home_that_does_not_fit_is_replaced(fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fresh.setenv("JAVA_HOME", "/old")
    assert sessions.launch_variables({})["JAVA_HOME"] == str(tmp_path / "jdk")


def test_a_jvm_that_runs_needs_no_java(fresh: pytest.MonkeyPatch) -> None:
    fresh.setattr(sessions, "find_java", lambda: pytest.fail("it looked for a Java"))
    fresh.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert sessions.launch_variables({}) == {"PYSPARK_PYTHON": sys.executable}


@pytest.mark.parametrize(
    ("variable", "asked"),
    [
        ("MASTER", {}),
        ("PYSPARK_SUBMIT_ARGS", {}),
        ("OTHER", {"spark.master": "spark://host:7077"}),
        ("OTHER", {"spark.driver.host": "192.0.2.1"}),
    ],
)
def test_a_master_that_may_be_a_cluster_keeps_its_addresses(
    fresh: pytest.MonkeyPatch, variable: str, asked: dict[str, str]
) -> None:
    fresh.setenv(variable, "spark://host:7077")
    assert "SPARK_LOCAL_IP" not in sessions.launch_variables(asked)


def test_a_defaults_file_may_name_a_cluster(fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").touch()
    assert sessions.likely_master({}) == ""
    assert sessions.likely_master({"spark.master": "local"}) == "local"


def test_variables_last_until_the_jvm_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_A", "before")
    monkeypatch.delenv("WEFT_B", raising=False)
    with sessions.variables({"WEFT_A": "1", "WEFT_B": "2"}):
        assert (os.environ["WEFT_A"], os.environ["WEFT_B"]) == ("1", "2")
    assert os.environ["WEFT_A"] == "before"
    assert "WEFT_B" not in os.environ


class Refused(AnalysisException):
    """What Spark says of a setting it does not take."""

    def getCondition(self) -> str:  # noqa: N802 (Spark's name)
        return str(self.args[0])


class RunningConf:
    """The settings of a running session, whose warehouse cannot change."""

    def __init__(self, **settings: str) -> None:
        self.getAll = {name.replace("_", "."): value for name, value in settings.items()}
        self.done: dict[str, str] = {}

    def set(self, name: str, value: str) -> None:
        if name == STATIC or value == "wrong":
            raise Refused("CANNOT_MODIFY_STATIC_CONFIG" if name == STATIC else "INVALID_CONF_VALUE")
        self.done[name] = value


class Running:
    """A session that runs."""

    def __init__(self, **settings: str) -> None:
        self.conf = RunningConf(**settings)


def put(asked: dict[str, str], **settings: str) -> dict[str, str]:
    spark: Any = Running(**settings)
    sessions.put_onto(spark, asked)
    done: dict[str, str] = spark.conf.done
    return done


def test_a_running_session_gets_what_can_still_be_set() -> None:
    assert put({"spark.sql.x": "1"}, spark_master="local[3]") == SETTINGS | {
        PARTITIONS: "3",
        "spark.sql.x": "1",
    }


def test_what_the_user_set_on_a_running_session_stays() -> None:
    mine = {PROVIDER: "other", PARTITIONS: "5"}
    assert not put({}, spark_master="local[3]", **mine).keys() & mine.keys()
    assert put({PARTITIONS: "6"}, **mine)[PARTITIONS] == "6"


def test_a_second_call_changes_nothing_and_says_nothing() -> None:
    assert put({"spark.app.name": "x"}, spark_app_name="x", **SETTINGS) == {}


def test_what_cannot_change_any_more_is_said() -> None:
    asked = {"spark.master": "local[8]", "spark.driver.memory": "4g", STATIC: "/w", "spark.sql.x": "1"}
    with pytest.warns(SessionWarning) as caught:
        done = put(asked, spark_master="local[2]", **{STATIC: "/v"})
    assert "spark.sql.x" in done
    assert not {"spark.master", "spark.driver.memory", STATIC} & done.keys()
    assert str(caught[0].message) == (
        "the session runs already and keeps what cannot change while it runs: "
        'spark.master is "local[2]", not "local[8]"; spark.driver.memory is not set, not "4g"; '
        f'{STATIC} is "/v", not "/w".\n\n'
        "Hint: stop it with spark.stop(), then call weft.spark.session(...) again"
    )


def test_a_value_that_spark_refuses_is_sparks_error() -> None:
    with pytest.raises(AnalysisException):
        put({"spark.sql.x": "wrong"})


def test_a_session_of_an_older_spark_is_stopped_again(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = []
    old = SimpleNamespace(version="3.5.6", stop=lambda: stopped.append("stopped"))
    monkeypatch.setattr(sessions, "running", lambda: None)
    monkeypatch.setattr(sessions, "started", lambda asked: old)
    with pytest.raises(InputError, match="SPARK_HOME"):
        weft.spark.session()
    assert stopped == ["stopped"]


def test_importing_the_module_leaves_the_function_callable() -> None:
    assert callable(weft.spark.session)
    assert weft.spark.SessionWarning is SessionWarning
