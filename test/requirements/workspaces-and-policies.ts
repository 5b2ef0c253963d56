/** Workspace variants and confirmation policies. */
import { rows } from './requirement.ts'

export const localWorkspace = rows('LocalWorkspace', [
  ['seed.workspace.kind', '`kind` selects the workspace: LocalWorkspace or RemoteWorkspace'],
  ['seed.workspace.local.host', 'a LocalWorkspace operates on the file system of the host'],
  ['seed.workspace.local.working_dir.required', '`working_dir` of a LocalWorkspace is required'],
  ['seed.workspace.local.working_dir.type', '`working_dir` of a LocalWorkspace is a string'],
  ['seed.workspace.local.kind', '`kind` of a LocalWorkspace is the constant `LocalWorkspace`'],
])

export const remoteWorkspace = rows('RemoteWorkspace', [
  ['seed.workspace.remote.host-kind', 'a RemoteWorkspace operates through a remote agent server'],
  ['seed.workspace.remote.working_dir.required', '`working_dir` of a RemoteWorkspace is required and a string'],
  ['seed.workspace.remote.working_dir.meaning', "the agent's operations happen in the remote `working_dir`"],
  ['seed.workspace.remote.host.required', '`host` is required and a string'],
  ['seed.workspace.remote.host.meaning', '`host` is the URL of the remote host'],
  ['seed.workspace.remote.api_key.type', '`api_key` of a RemoteWorkspace is an optional string or null'],
  ['seed.workspace.remote.read_timeout.type', '`read_timeout` is a number of seconds'],
  ['seed.workspace.remote.read_timeout.default', '`read_timeout` is 600 when omitted'],
  ['seed.workspace.remote.read_timeout.meaning', '`read_timeout` bounds read operations of the HTTP client'],
  ['seed.workspace.remote.max_connections.type', '`max_connections` is an optional integer or null'],
  ['seed.workspace.remote.max_connections.null', 'a null `max_connections` means no limit'],
  ['seed.workspace.remote.kind', '`kind` of a RemoteWorkspace is the constant `RemoteWorkspace`'],
  [
    'seed.workspace.remote.callback.url',
    'with AUTOMATION_CALLBACK_URL set, completion is posted to it when a RemoteWorkspace exits',
  ],
  ['seed.workspace.remote.callback.optional', 'without AUTOMATION_CALLBACK_URL nothing is posted'],
  ['seed.workspace.remote.callback.key', 'AUTOMATION_CALLBACK_API_KEY, when set, is the bearer token of the callback'],
  ['seed.workspace.remote.callback.run-id', 'AUTOMATION_RUN_ID, when set, is part of the callback payload'],
])

export const confirmationPolicy = rows('Confirmation policies', [
  ['seed.confirmation-policy.kind', '`kind` selects the confirmation policy'],
  ['seed.confirmation-policy.always', 'AlwaysConfirm has no fields and requires a decision about every action'],
  ['seed.confirmation-policy.never', 'NeverConfirm has no fields and requires no decision'],
  ['seed.confirmation-policy.risky.threshold.type', '`threshold` of ConfirmRisky is a SecurityRisk'],
  ['seed.confirmation-policy.risky.threshold.default', '`threshold` of ConfirmRisky is HIGH when omitted'],
  ['seed.confirmation-policy.risky.confirm_unknown.type', '`confirm_unknown` of ConfirmRisky is a boolean'],
  ['seed.confirmation-policy.risky.confirm_unknown.default', '`confirm_unknown` of ConfirmRisky is true when omitted'],
  [
    'seed.confirmation-policy.risky.pauses',
    'ConfirmRisky pauses for confirmation by the risk that an analyzer assigned',
  ],
  ['seed.confirmation-policy.risky.unknown', 'with `confirm_unknown` true an UNKNOWN risk is confirmed'],
  ['seed.confirmation-policy.risk.levels', 'LOW, MEDIUM, HIGH and UNKNOWN are risk levels'],
])
