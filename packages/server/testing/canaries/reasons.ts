/** Where a canary may be found, and why: the one list of exceptions. Whoever adds one says what makes it right. */

export const REASONS = {
  'clear text':
    'a key with the role admin asked for X-Expose-Secrets: plaintext, or for the value of one stored secret by name',
  'a vault': 'a double that keeps secrets and gives them to the server, as it is asked to',
  'a model': 'a double of a model may be made to repeat a secret; what the service makes of that is searched',
  'a machine':
    'another server, on which commands run, answers with what they print; masking is up to the server that asked',
} as const

export type Reason = keyof typeof REASONS

/** Files below a data directory that are not the service's own words. */
export const FILES_OF_COMMANDS: readonly { at: RegExp; why: string }[] = [
  { at: /^(?:workspaces|worktrees)\//, why: 'what commands wrote into their workspace, with the secrets they named' },
  { at: /^runner\/boxes\//, why: 'homes and temporary folders of sandboxed commands, written by them' },
]
