/** Texts of the hand-off of changes in English. */
export const handOff = {
  open: 'Commit …',
  title: 'Commit the changes',
  lead: 'The agent runs the commands. The policy of this conversation applies to them, so they may wait for your approval.',
  message: 'Commit message',
  push: 'Push the branch to its remote, too',
  commit: 'Commit',
  commitAndPush: 'Commit and push',
  /** The messages that the agent gets. */
  askCommit: 'Commit all changes with this command, and do nothing else:',
  askCommitAndPush:
    'Commit all changes and push the branch with this command, and do nothing else. If the remote needs a token, pass its variable as your instructions describe:',
}
