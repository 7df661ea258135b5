"""Columns, categories, labels and plausible ranges of the two data sets, from their documentation.

Nothing here was computed from the records, which may exceed the ranges and are then clipped.
"""

from __future__ import annotations

from dataclasses import dataclass

MISSING = "?"


@dataclass(frozen=True)
class Numeric:
    """A numeric column, its declared range, and whether values are seen as log(1 + value)."""

    name: str
    low: float
    high: float
    log: bool = False


@dataclass(frozen=True)
class Symbolic:
    """A column and its documented categories; records may hold others."""

    name: str
    categories: tuple[str, ...]


@dataclass(frozen=True)
class Schema:
    """Columns in the files' order, the label, and what the labels -1 and 1 stand for."""

    title: str
    columns: tuple[Numeric | Symbolic, ...]
    label: str
    positive: str
    negative: tuple[str, ...]
    target_names: tuple[str, str]

    @property
    def numeric(self) -> tuple[Numeric, ...]:
        """The numeric columns, in order."""
        return tuple(column for column in self.columns if isinstance(column, Numeric))

    @property
    def symbolic(self) -> tuple[Symbolic, ...]:
        """The columns of categories, in order."""
        return tuple(column for column in self.columns if isinstance(column, Symbolic))

    @property
    def names(self) -> list[str]:
        """Names of all columns, the label last."""
        return [*(column.name for column in self.columns), self.label]


def _symbolic(name: str, categories: str) -> Symbolic:
    return Symbolic(name, tuple(categories.split()))


def _rates(names: str) -> tuple[Numeric, ...]:
    return tuple(Numeric(name, 0.0, 1.0) for name in names.split())


_flag = _rates  # 0 or 1

ADULT = Schema(
    title="Adult",
    columns=(
        Numeric("age", 17, 90),
        _symbolic(
            "workclass",
            "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay"
            " Never-worked",
        ),
        Numeric("fnlwgt", 0, 1_000_000),
        _symbolic(
            "education",
            "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th"
            " Masters 1st-4th 10th Doctorate 5th-6th Preschool",
        ),
        Numeric("education-num", 1, 16),
        _symbolic(
            "marital-status",
            "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent"
            " Married-AF-spouse",
        ),
        _symbolic(
            "occupation",
            "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty"
            " Handlers-cleaners Machine-op-inspct Adm-clerical Farming-fishing Transport-moving"
            " Priv-house-serv Protective-serv Armed-Forces",
        ),
        _symbolic("relationship", "Wife Own-child Husband Not-in-family Other-relative Unmarried"),
        _symbolic("race", "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black"),
        _symbolic("sex", "Female Male"),
        Numeric("capital-gain", 0, 99_999),
        Numeric("capital-loss", 0, 9_999),
        Numeric("hours-per-week", 1, 99),
        _symbolic(
            "native-country",
            "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc)"
            " India Japan Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica"
            " Vietnam Mexico Portugal Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti"
            " Columbia Hungary Guatemala Nicaragua Scotland Thailand Yugoslavia El-Salvador"
            " Trinadad&Tobago Peru Hong Holand-Netherlands",
        ),
    ),
    label="class",
    positive=">50K",
    negative=("<=50K",),
    target_names=("<=50K", ">50K"),
)

_DAY = 86_400  # seconds
_FOUR_GIB = 2**32  # bytes
_ATTACKS = (
    "back buffer_overflow ftp_write guess_passwd imap ipsweep land loadmodule multihop neptune nmap"
    " perl phf pod portsweep rootkit satan smurf spy teardrop warezclient warezmaster"
)

KDDCUP99 = Schema(
    title="KDD Cup 1999",
    columns=(
        Numeric("duration", 0, _DAY, log=True),
        _symbolic("protocol_type", "tcp udp icmp"),
        _symbolic(
            "service",
            "aol auth bgp courier csnet_ns ctf daytime discard domain domain_u echo eco_i ecr_i efs"
            " exec finger ftp ftp_data gopher harvest hostnames http http_2784 http_443 http_8001"
            " imap4 IRC iso_tsap klogin kshell ldap link login mtp name netbios_dgm netbios_ns"
            " netbios_ssn netstat nnsp nntp ntp_u other pm_dump pop_2 pop_3 printer private red_i"
            " remote_job rje shell smtp sql_net ssh sunrpc supdup systat telnet tftp_u tim_i time"
            " urh_i urp_i uucp uucp_path vmnet whois X11 Z39_50",
        ),
        _symbolic("flag", "SF S0 S1 S2 S3 REJ RSTO RSTR RSTOS0 SH OTH"),
        Numeric("src_bytes", 0, _FOUR_GIB, log=True),
        Numeric("dst_bytes", 0, _FOUR_GIB, log=True),
        *_flag("land"),
        Numeric("wrong_fragment", 0, 10),
        Numeric("urgent", 0, 10),
        Numeric("hot", 0, 1_000, log=True),
        Numeric("num_failed_logins", 0, 10),
        *_flag("logged_in"),
        Numeric("num_compromised", 0, 1_000, log=True),
        *_flag("root_shell su_attempted"),
        Numeric("num_root", 0, 1_000, log=True),
        Numeric("num_file_creations", 0, 1_000, log=True),
        Numeric("num_shells", 0, 10),
        Numeric("num_access_files", 0, 10),
        Numeric("num_outbound_cmds", 0, 10),
        *_flag("is_host_login is_guest_login"),
        Numeric("count", 0, 511),
        Numeric("srv_count", 0, 511),
        *_rates("serror_rate srv_serror_rate rerror_rate srv_rerror_rate"),
        *_rates("same_srv_rate diff_srv_rate srv_diff_host_rate"),
        Numeric("dst_host_count", 0, 255),
        Numeric("dst_host_srv_count", 0, 255),
        *_rates("dst_host_same_srv_rate dst_host_diff_srv_rate dst_host_same_src_port_rate"),
        *_rates("dst_host_srv_diff_host_rate dst_host_serror_rate dst_host_srv_serror_rate"),
        *_rates("dst_host_rerror_rate dst_host_srv_rerror_rate"),
    ),
    label="label",
    positive="normal",
    negative=tuple(_ATTACKS.split()),
    target_names=("attack", "normal"),
)
