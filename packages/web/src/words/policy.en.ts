/** Texts about the policy of approvals in English. */
export const policy = {
  title: 'Policy',
  lead: 'When agents in new conversations need your approval. Each new conversation can have another choice.',
  readOnly: 'Your key can read the settings and not change them.',
  notChosen:
    'You have not chosen a policy. Conversations that you start in these pages ask for risky actions. Those of other clients ask for nothing until you save a choice here.',
  when: 'When to ask you',
  moments: {
    risky: { title: 'For risky actions', text: 'From the risk that you choose below, and when the risk is not known.' },
    always: { title: 'For every action', text: 'Nothing runs without your approval.' },
    never: { title: 'Never', text: 'The agent runs everything by itself.' },
  },
  from: 'Lowest risk that needs approval',
  risks: {
    LOW: { title: 'Low', text: 'Nearly every action, with its risk shown.' },
    MEDIUM: { title: 'Medium', text: 'Also what reaches the network or changes more than the project.' },
    HIGH: { title: 'High', text: 'Only what may destroy or publish data, or change the system.' },
  },
  analyzers: 'How risk is rated',
  analyzersHint: 'The highest risk counts. Ratings prevent accidents. They do not stop an attacker; the sandbox does.',
  kinds: {
    pattern: {
      title: 'Known patterns',
      text: 'The server reads each command and compares it with known dangerous forms.',
    },
    policy_rail: {
      title: 'Fixed rules',
      text: 'Downloads that are executed, writing to raw disks, and deletions of whole trees are a high risk.',
    },
    llm: { title: 'The model’s own estimate', text: 'The model rates each of its calls. It costs a few tokens.' },
  },
  needs: 'Choose at least one. Otherwise every action needs your approval.',
  save: 'Save',
  saving: 'Saving …',
  saved: 'The policy is saved. New conversations use it.',

  // The policy of one conversation
  change: 'Change the policy',
  ofConversation: 'Policy of this conversation',
  ofConversationLead: 'It applies from the next action on. An approval that waits stays as it is.',
  otherAnalyzers: 'This conversation has an analyzer that was set by another client. It stays.',
  apply: 'Apply',
  applying: 'Applying …',
} as const
