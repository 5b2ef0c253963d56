/** Texts of deciding in the queue in English. */

export const queue = {
  decide: 'Decide',
  decideAbout: (what: string) => `Decide about ${what}`,
  outcomes: { approved: 'Approved', refused: 'Refused', elsewhere: 'Answered elsewhere' },
  because: (reason: string) => `Reason: ${reason}`,
  stopped: 'The run has stopped.',
  notContinued: (problem: string) => `The decision is stored, but the conversation did not continue. ${problem}`,
  done: 'Nothing else waits for you',
  entry: (title: string, tools: string) => `${title}: ${tools}`,
  announce: (outcome: string, left: number) =>
    `${outcome}. ${left === 0 ? 'Nothing else waits for you.' : left === 1 ? '1 more waits.' : `${left} more wait.`}`,
}
