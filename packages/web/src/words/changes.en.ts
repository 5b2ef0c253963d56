/** Texts of the changes of a workspace in English. */
const integer = new Intl.NumberFormat('en')
const size = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

type Texts = Readonly<Record<string, string | undefined>>

export const changes = {
  list: 'Changed files',
  files: (count: number) => `${integer.format(count)} ${count === 1 ? 'file' : 'files'}`,
  viewedOf: (viewed: number, all: number) => `${integer.format(viewed)} of ${integer.format(all)} viewed`,
  counts: (added: number, removed: number) =>
    `${integer.format(added)} ${added === 1 ? 'line' : 'lines'} added, ${integer.format(removed)} removed`,
  compare: 'Compare with',
  comparisons: { branch: 'Base of the branch', uncommitted: 'Last commit' },
  view: 'View',
  unified: 'Unified',
  split: 'Split',
  openAll: 'Open all files',
  closeAll: 'Close all files',
  viewed: 'Viewed',
  viewedFile: (path: string) => `Viewed: ${path}`,
  status: { ADDED: 'New', UPDATED: 'Changed', DELETED: 'Deleted', MOVED: 'Moved' } as Texts,
  movedFrom: (path: string) => `Moved from ${path}`,
  gap: (count: number) => `${integer.format(count)} unchanged ${count === 1 ? 'line' : 'lines'}`,
  sign: { added: 'Added', removed: 'Removed', same: 'Unchanged' },
  loading: 'Loading',
  binary: (bytes: string) => `A binary file${bytes === '' ? '' : ` of ${bytes}`} is not shown.`,
  large: (bytes: string) => `The change is too large to be shown${bytes === '' ? '' : `: the file has ${bytes}`}.`,
  onlyMoved: 'The file was moved without a change of its text.',
  noText: 'The file is empty, or only its permissions changed.',
  bytes: (count: number) =>
    count < 1024
      ? `${count} bytes`
      : count < 1024 * 1024
        ? `${size.format(count / 1024)} KB`
        : `${size.format(count / 1024 / 1024)} MB`,

  none: 'No changes',
  noneText: {
    branch: 'Nothing differs from the commit where the branch began.',
    uncommitted: 'Nothing differs from the last commit.',
  },
  noRepository: 'Not a git repository',
  noRepositoryText: 'Changes are shown for workspaces in a git repository.',
  remote: 'The workspace is on another server',
  remoteText: 'Its changes are shown there, and in the rows of the timeline that edit a file.',

  comment: (line: number) => `Comment on line ${integer.format(line)}`,
  commentOn: (from: number, to: number) => (from === to ? `Comment on line ${from}` : `Comment on lines ${from}–${to}`),
  commentHint: 'Shift-click another line to comment on several.',
  send: 'Send to the agent',
  cancel: 'Cancel',
  sent: 'Comment sent',
  /** The message that the agent gets. */
  message: (path: string, from: number, to: number, side: 'before' | 'after', quoted: string, text: string) =>
    [
      `About ${side === 'before' ? 'removed ' : ''}${from === to ? `line ${from}` : `lines ${from}–${to}`} of \`${path}\`:`,
      quoted.replaceAll(/^/gm, '> '),
      text,
    ].join('\n\n'),
}
