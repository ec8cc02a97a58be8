"""Every kind of line that a trace has, with the columns of its table and their types.

A test holds this list against docs/trace.md: a key that is new there is added here. Keys and kinds that are not listed
are kept all the same; the list gives a table its columns, their order and their types where no line has a value.

Used by _records and _tables.
"""

# The newest version of the format that is read; include/weft/version.h has it for Weft itself (a test compares).
NEWEST_VERSION = 2

# In front of every table: the rank of the training, the process id, and the row of the line's header in `headers`.
ADDED = ("rank", "process", "segment")

# Of these the rank and the process are those of the training already. Of another line's own key with such a name the
# column has the kind in front: a communicator's rank is `communicator_rank`.
OF_THE_TRAINING = ("header", "summary")


class Kind:
    """One kind of line. `columns` has the type for each name: integer, number, text, boolean or list; `times` has the
    names of those integers that are a time of the rank's clock."""

    def __init__(self, name, table, columns):
        self.name = name
        self.table = table
        added = {column: "integer" for column in ADDED}
        own = dict(column.rsplit(":", 1) for column in columns.split())
        self.times = tuple(column for column, kind_of_value in own.items() if kind_of_value == "time")
        own.update(dict.fromkeys(self.times, "integer"))
        self.columns = {**added, **own}
        # An object of the trace becomes a column for each of its keys: `forecast.median`.
        self.objects = tuple(dict.fromkeys(name.split(".")[0] for name in own if "." in name))
        self.empty_row = dict.fromkeys(self.columns)


_COMMON = "time:time device:integer "

_LISTED = (
    Kind("header", "headers", """
        file:text format:text version:integer weft:text rank:integer ranks:integer device:integer mode:text
        fill_job:text fill_stream:text fill_confinement:text idle_unknown:text caution:text nccl_version:integer
        driver_version:integer multiprocessors:integer host:text process:integer start_id:integer clock:text
        started:time wall_clock:integer boot:text clock_offset:integer"""),
    Kind("bubble", "bubbles", _COMMON + """
        id:integer opened:time closed:time opened_within:integer closed_within:integer cause:text pattern:text
        stream:integer iteration:integer rhythm:text turn:integer ordinal:integer group:integer communicator:integer
        send_peer:integer receive_peer:integer bytes:integer
        forecast.low:integer forecast.median:integer forecast.high:integer forecast.samples:integer
        stage:integer chunk:integer microbatch:integer left_out:boolean"""),
    Kind("uncertain", "uncertain", _COMMON + "began:time ended:time why:text"),
    Kind("dark", "dark", _COMMON + "began:time ended:time"),
    Kind("slice", "slices", _COMMON + """
        job:integer unit:integer slice:integer bubble:integer launched:time finished:time alone:integer
        unit_done:boolean correct:boolean"""),
    Kind("move", "moves", _COMMON + """
        job:integer way:text bytes:integer bubble:integer launched:time finished:time alone:integer"""),
    Kind("job", "jobs", _COMMON + """
        job:integer name:text event:text why:text memory:integer priority:integer weight:number deadline:integer
        units:integer variant:text held:integer"""),
    Kind("iteration", "iterations", _COMMON + """
        number:integer rhythm:text turn:integer started:time ended:time groups:integer idle:integer
        uncertain:integer said:integer dark:boolean"""),
    Kind("memory", "memory", _COMMON + """
        event:text cap:integer reserved:integer used:integer device_free:integer device_total:integer"""),
    Kind("anomaly", "anomalies", _COMMON + "text:text stops_filling:boolean"),
    Kind("communicator", "communicators", _COMMON + """
        event:text communicator:integer communicator_rank:integer ranks:integer id:text name:text"""),
    Kind("group", "groups", _COMMON + """
        id:integer communicator:integer iteration:integer begun:time begun_within:integer ended:time
        ended_within:integer operations:list left_out:integer"""),
    Kind("call_frame", "call_frames", _COMMON + """
        rhythm:text ordinal:integer group:integer kind:text number:integer function:text file:text line:integer
        offset:integer"""),
    Kind("clock", "clocks", _COMMON + "monotonic:time wall_clock:integer width:integer"),
    Kind("slowdown", "slowdown", _COMMON + """
        budget:number share:number iteration:integer control:integer filled:integer
        estimate:number low:number high:number"""),
    Kind("watching", "watching", _COMMON + """
        budget:number looks:text iteration:integer dark:integer watched:integer
        estimate:number low:number high:number"""),
    Kind("limit", "limits", _COMMON + "bytes:integer"),
    Kind("summary", "summaries", """
        rank:integer device:integer window_begin:time window_end:time iterations:integer
        iteration_median:integer bubbles:integer idle:integer uncertain:integer dark:integer filled:integer
        idle_left_out:integer slices:integer moved:integer fill_units:integer fill_units_wrong:integer
        unfilled.no_forecast:integer unfilled.posted_early:integer unfilled.no_room:integer unfilled.held_back:integer
        unfilled.one_queue:integer unfilled.no_work:integer unfilled.other:integer
        dropped_records:integer records_left_out:integer
        slowdown.budget:number slowdown.share:number slowdown.iteration:integer slowdown.control:integer
        slowdown.filled:integer slowdown.estimate:number slowdown.low:number slowdown.high:number
        watching.budget:number watching.looks:text watching.iteration:integer watching.dark:integer
        watching.watched:integer watching.estimate:number watching.low:number watching.high:number
        filling_stopped:boolean reason:text fill_stream:text fill_confinement:text uncertain_reason:text
        end_uncertainty:integer cpu:integer spun:integer groups_thinned_out:integer annotations_refused:integer
        annotations_held_back:integer jobs:list
        startup.length:integer startup.idle:integer startup.uncertain:integer startup.filled:integer"""),
)

KINDS = {kind.name: kind for kind in _LISTED}


def kind_named(name):
    """A kind that is not listed, of a newer Weft, has the columns of every record and those that its lines have."""
    return KINDS.get(name) or Kind(name, name, _COMMON)
