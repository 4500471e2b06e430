/** Who uses the page. The access token is no part of it: it stays inside the session. */
import type { Problem } from "../kernel/problem";

export type Role = "viewer" | "editor" | "admin" | "operator";

export interface Identity {
  readonly user: { readonly id: string; readonly email: string; readonly name: string; readonly role: Role };
  readonly tenant: { readonly id: string; readonly slug: string; readonly name: string };
}

/** The gateway's answer to every way of signing in. */
export interface SignedIn extends Identity {
  readonly access_token: string;
  readonly expires_in: number;
}

export type SessionState =
  | { readonly kind: "starting" }
  | { readonly kind: "unreachable"; readonly problem: Problem } // says nothing about whether somebody is signed in
  | { readonly kind: "signed-out"; readonly ended: string | null } // `ended`: why the session is over; null: there was none
  | { readonly kind: "signed-in"; readonly identity: Identity };

export function sameIdentity(one: Identity, other: Identity): boolean {
  return one.user.id === other.user.id && one.tenant.id === other.tenant.id && one.user.role === other.user.role;
}

/** The gateway decides; the page only leaves out what would be refused. */
export function mayChange(identity: Identity): boolean {
  return identity.user.role !== "viewer";
}
