/** Texts of branches in English: the tree, going back, forks. */
const integer = new Intl.NumberFormat('en')

export const tree = {
  label: 'Branches of the conversation',
  empty: 'Nothing has happened yet',
  emptyText: 'After you go back to an earlier place and continue there, both branches are listed here.',
  one: 'The conversation has one branch. After you go back to an earlier place and continue there, both are listed here.',
  events: (count: number) => `${integer.format(count)} ${count === 1 ? 'event' : 'events'}`,
  began: (time: string) => `began ${time}`,
  here: 'You are here',
  onBranch: 'On the branch that is shown',
  show: 'Show',
  goBack: 'Go back here',
  continueHere: 'Continue on this branch',
  fork: 'Fork from here',
  showMore: (count: number) => `Show ${integer.format(count)} more`,
  actionsOf: (title: string) => `Actions of ${title}`,

  goBackTitle: 'Go back here',
  goBackText:
    'The conversation continues after this place. What came later stays in the log as a branch, to which you can return.',
  files: 'Files of the workspace',
  restore: 'Restore the files',
  restoreText: 'As they were at this place. The present files are recorded first. This needs a checkpoint.',
  keep: 'Leave the files',
  keepText: 'The files stay as they are now. The agent may find what it changed later.',
  noCheckpoint: 'There is no checkpoint of the files at this place. Leave the files as they are, or fork.',
  moved:
    'The conversation has continued or moved since you opened this dialog. Look at the newest place, then go back again.',
  cancel: 'Cancel',

  forkTitle: 'Fork from here',
  forkText:
    'A new conversation with all events up to this place, and the model, policy and tools of this one. This conversation stays as it is.',
  forkFiles:
    'It gets a copy of the files as they were at this place, in a directory of its own. Without a checkpoint it works in the same directory as this conversation.',
  forkName: 'Title',
  forkNameOf: (title: string) => (title === '' ? '' : `${title} (fork)`),
  forked: 'The fork is ready.',
  forkShared: 'It works in the same directory as this conversation.',
  openFork: 'Open the fork',

  edit: 'Edit and send again',
  editTitle: 'Edit and send again',
  editText:
    'The conversation continues before this message, with the new text. The message and what followed stay in the log as a branch. The files stay as they are.',
  editName: 'Message',
  send: 'Send',
  working: 'Working …',
}
