# ruff: noqa: F403 - every exception is public here, and is listed once: in the tree below
"""
Every exception, with its message, once; all other texts for users stand in the `messages` of the
folder that uses them.

SubagentsError
  RequestError          the whole call was refused, nothing was started        exit 2
    InvalidRequest        a parameter is missing, of the wrong type or out of range
    PatternRefused        a pattern to search with is none, or takes too long
    CwdNotAbsolute        a task's directory is relative
    CwdHasParentSegments  a task's directory climbs
    ResumeNotFound        no session of that id to go on with
    ResumeStillRunning    a session that is to be resumed has not ended
    ResumedTwice          two tasks want to go on with one session
    ProfileNotFound       no profile of that name
    ProfileNameInvalid    no profile may be called so
    ProfileExists         a profile that is to be created is there already
    ProfileRefused        a profile contradicts itself
    ExtraArgRefused       an extraArg of a profile must not reach the child
    UnknownPreset         no preset of that name
    AgentFileUnreadable   a file of another program holds no agent that could be imported
    DefinitionExists      a file is where a new profile or preset would be
    DefinitionNotUsed     a preset of a project that is not trusted may not be used
    PresetNameInvalid     no preset may be called so
    NoModelGiven          neither the call nor its preset names a model
    ModelNotAvailable     the sub-agent has no model of that name
    ModelAmbiguous        several of its models go by that name
    TaskFileUnusable      a file of tasks cannot be read
    UnknownTool           no tool of that name
    UnknownEngine         no engine of that name
    NestedDelegation      a child tried to delegate
    ActsInsideSubagent    a child tried to stop, steer, answer, resume or remove runs
    PlatformNotSupported  Windows outside WSL
    NoWorkspace           no worktree can be made of a task's directory
    HostEntryForeign      a host knows another server under that name
    CannotTravel          a task for a cluster needs what only its caller has
    WorkerNameInvalid     no worker of a cluster may be called so
    WorkerNameTaken       a worker of that name is at work on this machine
    SharedPathUnusable    a directory that a worker is to share is not there
  SetupError            the child cannot be run on this machine                exit 2
    PiNotFound            no pi anywhere
    PiCommandUnusable     a configured pi command cannot be run
    AgentNotFound         the agent of an engine is not there
    NoMoreProcesses       the limit of processes and threads is reached
    NodeNotFound          no Node that pi accepts, and none could be fetched
    InstallFailed         npm or pip failed
    RunsAtWork            nothing is removed while sub-agents run
    PiPackageNotChanged   pi did not take or drop our extension
    NoModelConfigured     there is no model that sub-agents could use
    ModelsUnknown         pi did not say which models it has
    PortUnavailable       a server of ours cannot listen there
    McpNotInstalled       the library of the MCP server is missing
    TokenFileUnusable     the HTTP server's token is not a private file
    TmuxNotFound          the tmux runner was chosen, and there is no tmux
    TmuxTooOld            the tmux runner was chosen, and tmux is too old
    GitMissing            worktrees were chosen, and there is no git that can make them
    ConfiningImpossible   sub-agents were to be confined, and the kernel cannot do it
    ClusterError          a cluster cannot be used as it is
      ClusterPackageMissing   its extra is not installed
      ClusterAddressMissing   nobody said where it is
      ClusterAddressInvalid   that is no address of PostgreSQL
      ClusterUnreachable      its database does not answer
      ClusterNotMade          there is none in that database yet
      ClusterOfOtherVersion   its tables are those of another version
      ClusterRolesMissing     its roles are not there and may not be created
      ClusterInitRefused      none may be made in that database
      ClusterRefused          the database refuses what was asked
      ClusterRoleLacking      the user of the address has no right to ask that
      AttemptOver             a worker's attempt at a run counts no more
      ClusterBusyHere         somebody tries one on this machine already
      LocalServerFailed       PostgreSQL did not start on this machine
    RuntimeDirUnusable    the tmux runner has no private directory for its sockets
  StoreError            an asked-for record is absent or unreadable            exit 2
    RunNotFound
    BackgroundRunNotFound
    BackgroundNotIndexed  the run could not be found again
    AnswerNotWritten      standard output takes no more
    ReportNotWritten      no report can be kept under that name
    IndexUnreadable       which background runs there are is not known
    LedgerDamaged         what was spent is not known
    LedgerUnreachable     what was spent is not known now
    RunAmbiguous
    RunUnreadable
    RunNotActive
    RunNotListening       it goes on and takes no orders
    RunNotAnswering       it goes on, and its supervisor is halted or hangs
    RunNotEnded           it took the order to stop, and goes on
    AnswerTargetNotFound  no run or session of that id to answer
    SteerTargetNotFound   no run or session of that id to steer
    StoreUnwritable
    SessionNotFound
    DefinitionNotSaved    a new profile or preset could not be written
    ProfileKeyInProject   a key would be written into the project
    ProfileNotSaved
    ProfileNotRemoved
    HostFileBroken        a host's configuration cannot be understood
    HostFileNotEditable   it is written in a way that cannot be changed safely
    HostFileNotSaved
    GitFailed             git could not do what it was asked for
    WorkspaceNotMade      a worktree is not there, or not what it has to be         its task fails
    ChangesUnavailable    the changes of a run cannot be looked at or taken
    ChangesConflict       they do not fit what is in the checkout
    ClusterRunUnknown     a cluster knows no such run or worker, or none of ours
  OrderRefused          an order from another machine is not what one may be    its run fails
  UnknownSkills         a profile names skills that are not there              its task fails
  UntrustedSkills       a profile names skills of an untrusted project         its task fails
  SkillUnreadable       a skill to be loaded cannot be read                    its task fails
  FrontmatterError      a profile, preset or skill file cannot be read         its file is left out
  OfflineScriptError    a script for the offline model is malformed            exit 2
  MalformedConfig       a configuration text has no meaning                    its file stays
  ConfigNotEditable     one entry cannot be changed alone                      its file stays

Callers raise with data, never with prose.
"""

from __future__ import annotations

from pi_subagents.errors.base import *
from pi_subagents.errors.calls import *
from pi_subagents.errors.cluster import *
from pi_subagents.errors.profiles import *
from pi_subagents.errors.setup import *
from pi_subagents.errors.store import *
from pi_subagents.errors.travel import *
from pi_subagents.errors.work import *
from pi_subagents.errors.workspaces import *
