import type { AddressClass } from './address-class.ts'

const WORDS: Readonly<Record<AddressClass, string>> = {
  public: 'an address that the operator has not listed',
  loopback: 'an address of the machine of this server',
  private: 'an address of a private network',
  'link-local': 'a link-local address',
  metadata: 'the address of a metadata service',
  reserved: 'a reserved address',
}

/** A request that the rules for users do not allow. Nothing was sent. */
export class EgressRefused extends Error {
  readonly code = 'EGRESS_REFUSED'
  readonly addressClass: AddressClass

  /** @param member the member of a request or of the settings that named the address */
  constructor(member: string, addressClass: AddressClass) {
    super(
      `${member} leads to ${WORDS[addressClass]} (${addressClass}), to which this server sends no requests for users. ` +
        'Name another address, or ask the operator to allow it with user_egress (PARLEY_USER_EGRESS).',
    )
    this.name = 'EgressRefused'
    this.addressClass = addressClass
  }
}

/** The refusal among an error and its causes; null when there is none. */
export function egressRefusalIn(error: unknown, depth = 0): EgressRefused | null {
  if (error instanceof EgressRefused) return error
  if (!(error instanceof Error) || depth > 8) return null
  return egressRefusalIn(error.cause, depth + 1)
}
