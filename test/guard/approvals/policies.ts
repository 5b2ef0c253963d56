const ALWAYS = { kind: 'AlwaysConfirm' }

/** The policies of the sequences; one that asks about everything is the most frequent. */
export const POLICIES = [
  ALWAYS,
  ALWAYS,
  ALWAYS,
  ALWAYS,
  { kind: 'NeverConfirm' },
  { kind: 'NeverConfirm' },
  { kind: 'ConfirmRisky' },
]
