package main

import (
	"fmt"
	"strings"
)

// Customer is somebody who buys.
type Customer struct {
	ID      int    `json:"id"`
	Name    string `json:"name"`
	City    string `json:"city"`
	Country string `json:"country"`
}

// Email is where the customer reads mail.
func (c Customer) Email() string {
	name := strings.NewReplacer(" ", ".", "ü", "ue", "ö", "oe", "ä", "ae", "ã", "a", "ç", "c", "é", "e", "ø", "o", "á", "a", "ł", "l", "è", "e", "ı", "i", "å", "a", "ú", "u").Replace(strings.ToLower(c.Name))
	return name + "@example.com"
}

// tag finds everything about the customer in lists of jobs.
func (c Customer) tag() string { return fmt.Sprintf("customer:%d", c.ID) }

var customers = []Customer{
	{1042, "Ana Ribeiro", "Porto", "PT"}, {1043, "Jonas Becker", "Leipzig", "DE"}, {1047, "Maud Lefèvre", "Lyon", "FR"},
	{1051, "João Conceição", "São Paulo", "BR"}, {1058, "Ingrid Sørensen", "Aarhus", "DK"}, {1064, "Tom Okafor", "Leeds", "GB"},
	{1066, "Zofia Kowal", "Gdańsk", "PL"}, {1071, "Giulia Ferri", "Torino", "IT"}, {1079, "Lars Lindqvist", "Malmö", "SE"},
	{1083, "Beatriz Souza", "Recife", "BR"}, {1090, "Emre Aydın", "İzmir", "TR"}, {1094, "Nora Haddad", "Marseille", "FR"},
	{1101, "Peter Müller", "Zürich", "CH"}, {1108, "Aoife Byrne", "Cork", "IE"}, {1113, "Hana Novák", "Brno", "CZ"},
	{1120, "Mateus Araújo", "Curitiba", "BR"}, {1127, "Eva Janssen", "Utrecht", "NL"}, {1133, "Kofi Mensah", "Accra", "GH"},
	{1139, "Sara Lindgren", "Umeå", "SE"}, {1146, "Diego Vidal", "Valencia", "ES"},
}

// Product is something that the shop sells.
type Product struct {
	SKU   string `json:"sku"`
	Name  string `json:"name"`
	Cents int    `json:"cents"`
}

var products = []Product{
	{"KET-012", "Copper kettle 1.2 l", 8900}, {"TEA-310", "Glass teapot with strainer", 3450}, {"CUP-044", "Stoneware cup, sand", 1490},
	{"PAN-280", "Cast iron pan 28 cm", 6990}, {"KNF-018", "Chef's knife 18 cm", 11900}, {"BRD-002", "Cutting board, walnut", 5400},
	{"APR-071", "Linen apron, olive", 4200}, {"JAR-500", "Storage jar 500 ml", 990}, {"GRD-115", "Coffee grinder, manual", 7900},
	{"BWL-260", "Mixing bowl set", 3900}, {"TWL-009", "Tea towel, pack of 3", 1890}, {"ROL-040", "Rolling pin, beech", 2200},
}

var warehouses = []string{"Leipzig", "Porto", "Utrecht"}

var suppliers = []string{"Nordlicht Keramik", "Forja do Minho", "Atelier Lumière", "Hollins & Sons"}
