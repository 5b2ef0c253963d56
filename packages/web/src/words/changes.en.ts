/** Texts of the changes of a workspace in English. */
const integer = new Intl.NumberFormat('en')

export const changes = {
  files: (count: number) => `${integer.format(count)} changed ${count === 1 ? 'file' : 'files'}`,
  list: 'Changed files',
  none: 'No changes',
  noneText: 'The files of the workspace are as they were committed, or the workspace is not a git repository.',
  status: { ADDED: 'Added', UPDATED: 'Changed', DELETED: 'Deleted', MOVED: 'Moved' } as Readonly<
    Record<string, string | undefined>
  >,
}
