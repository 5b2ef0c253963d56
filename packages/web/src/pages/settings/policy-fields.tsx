/** The choices of a policy: when to ask, from which risk on, and what rates the risk. */
import { ANALYZERS, type Analyzer, MOMENTS, type Policy, RISKS } from '../../lib/policy.ts'
import { Checks } from '../../ui/checks.tsx'
import { Choices } from '../../ui/choices.tsx'
import { policy as words } from '../../words/policy.en.ts'

type FieldsProps = {
  readonly policy: Policy
  /** False: the analyzers cannot be shown and stay as they are. */
  readonly hasAnalyzers?: boolean
  readonly onChange: (policy: Policy) => void
}

/** What a policy lacks, in words; null: nothing. */
export const lackOf = ({ when, analyzers }: Policy): string | null =>
  when === 'risky' && analyzers.length === 0 ? words.needs : null

export function PolicyFields({ policy, hasAnalyzers = true, onChange }: FieldsProps) {
  const toggle = (one: Analyzer, isOn: boolean): void =>
    onChange({ ...policy, analyzers: ANALYZERS.filter((id) => (id === one ? isOn : policy.analyzers.includes(id))) })
  return (
    <>
      <Choices
        label={words.when}
        choices={MOMENTS.map((id) => ({ id, ...words.moments[id] }))}
        chosen={policy.when}
        onChoose={(when) => onChange({ ...policy, when })}
      />
      {policy.when === 'risky' && (
        <Choices
          label={words.from}
          choices={RISKS.map((id) => ({ id, ...words.risks[id] }))}
          chosen={policy.from}
          onChoose={(from) => onChange({ ...policy, from })}
        />
      )}
      {policy.when === 'risky' && hasAnalyzers && (
        <Checks
          label={words.analyzers}
          hint={words.analyzersHint}
          error={lackOf(policy)}
          choices={ANALYZERS.map((id) => ({ id, ...words.kinds[id] }))}
          chosen={policy.analyzers}
          onToggle={toggle}
        />
      )}
    </>
  )
}
