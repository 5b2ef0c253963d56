/** Texts of the panel beside a conversation in English. */
export const panel = {
  label: 'Panel',
  show: 'Show the panel',
  hide: 'Close the panel',
  tabs: {
    changes: 'Changes',
    files: 'Files',
    terminal: 'Terminal',
    tree: 'Tree',
    agents: 'Sub-agents',
    usage: 'Usage',
  },
  resize: 'Width of the panel',
  widthOf: (pixels: number) => `${pixels} pixels`,
  key: (tab: string) => `Panel: ${tab}`,
  waits: 'An action waits for your approval.',
  decide: 'Decide',
}
