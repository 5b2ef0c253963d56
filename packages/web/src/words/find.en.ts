/** Texts of the search in a conversation, in English. */
const integer = new Intl.NumberFormat('en')

export const find = {
  open: 'Find in the conversation',
  label: 'Find in this conversation',
  text: 'Text to find',
  kinds: 'Where to look',
  kind: {
    all: 'Everywhere',
    messages: 'Messages',
    calls: 'Calls',
    results: 'Results',
    errors: 'Errors',
  },
  next: 'Next hit',
  previous: 'Previous hit',
  close: 'Close the search',
  none: 'No hits',
  searching: 'Searching …',
  place: (at: number, all: number, hasMore: boolean) =>
    at === 0
      ? `${integer.format(all)}${hasMore ? '+' : ''}`
      : `${integer.format(at)} of ${integer.format(all)}${hasMore ? '+' : ''}`,
  more: 'Only the newest 200 hits are listed. A longer text finds fewer.',
  elsewhere: (count: number) =>
    count === 1
      ? '1 hit is on another branch. The tree in the panel leads there.'
      : `${integer.format(count)} hits are on other branches. The tree in the panel leads there.`,
}
