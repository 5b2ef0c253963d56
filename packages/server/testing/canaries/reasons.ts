/** The only exceptions: places where a canary may be found, each with its justification. */

export const REASONS = {
  'clear text':
    'a key with the role admin asked for X-Expose-Secrets: plaintext, or for the value of one stored secret by name',
  'a vault': 'a double that stores secrets and returns them to the server on request',
  'a model': 'a double of a model may be made to repeat a secret; what the service makes of that is searched',
  'a machine':
    'another server, on which commands run, answers with what they print; masking is up to the server that asked',
} as const

export type Reason = keyof typeof REASONS

/** Files below a data directory whose content is not written by the service itself. */
export const FILES_OF_COMMANDS: readonly { at: RegExp; why: string }[] = [
  { at: /^(?:workspaces|worktrees)\//, why: 'what commands wrote into their workspace, with the secrets they named' },
  { at: /^runner\/etc\//, why: 'copies of files in /etc of this machine, a thousand of them' },
  { at: /^runner\/boxes\//, why: 'homes and temporary folders of sandboxed commands, written by them' },
]
