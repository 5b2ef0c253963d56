/** Texts of the tab about sub-agents in English. */
export const agents = {
  list: 'Sub-agents',
  empty: 'No sub-agents',
  emptyText: 'A sub-agent that the agent starts appears here with its state and cost.',
  status: {
    running: 'Running',
    waiting: 'Waits for you',
    failed: 'Failed',
    paused: 'Paused',
    finished: 'Finished',
    idle: 'Ready',
  },
  decide: 'Decide',
  open: (title: string) => `Open ${title}`,
  untitled: 'Sub-agent without a title',
  tokens: (read: string, written: string) => `${read} read · ${written} written`,
  total: (count: number, cost: string) => `${count === 1 ? '1 sub-agent' : `${count} sub-agents`} · ${cost}`,
} as const
